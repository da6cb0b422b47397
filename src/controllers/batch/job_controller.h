#pragma once
// The batch/v1 Job controller: hears Jobs and pods, observes, has plan_job decide, and tells what
// came of it as Events. A second queue takes the tracking finalizer off pods whose Job is gone or
// done. Loop thread.

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "client/event_recorder.h"
#include "controllers/batch/plan_job.h"
#include "controllers/runtime/first_hearing.h"

namespace yard {

class JobController {
 public:
  JobController(Loop& loop, Client& client);
  ~JobController();
  bool is_idle() const { return first_hearing_.is_over() && jobs_.is_idle() && pods_.is_idle(); }

 private:
  // What is remembered of a Job between looks; lost with the process and rebuilt from its pods.
  struct Memory {
    std::string uid;
    BackoffRecord backoff, next_backoff;
    int create_failures = 0;  // in a row
    Time create_after{};
    std::unordered_map<std::string, PodFacts> pods;  // by uid, as of their revision
  };

  void hear_job(const ObjectEvent& event);
  void hear_pod(const ObjectEvent& event);
  void follow_pod(const Object& pod, bool gone);
  void remember_orphans();
  void add_all();
  void add_matching_jobs(const Object& pod);

  Plan plan(const ObjectKey& key);
  JobWorld observe(const Object& object, JobFacts facts, Memory& memory);
  void observe_owned(JobWorld& world, Memory& memory, bool first_look);
  void observe_orphans(JobWorld& world);
  Plan plan_orphan(const ObjectKey& key);

  void heard(const ObjectKey& key, const ClientWrite& asked, const Result<ObjectPtr>& answer);
  void tell(const ObjectKey& key, const EventNote& note);
  void ended(const ObjectKey& key, bool went_well);

  Loop& loop_;
  Client& client_;
  EventRecorder recorder_;
  std::map<ObjectKey, Memory> memory_;
  std::map<std::string, std::set<std::string>, std::less<>>
      orphans_;                 // namespace → pods without a controller
  std::set<ObjectKey> manual_;  // Jobs with a selector of their own
  // By the hash of the uid, to be small: a Job that is taken for another is only looked at in vain.
  std::unordered_map<uint64_t, std::string> job_names_;
  Controller jobs_;
  Controller pods_;  // keys of pods that may have to lose the finalizer
  FirstHearing first_hearing_;
  Client::Subscription job_events_ = 0, pod_events_ = 0;
};

}  // namespace yard
