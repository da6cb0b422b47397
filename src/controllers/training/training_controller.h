#pragma once
// The controller of all training kinds: hears jobs, their pods and Services, observes, has
// plan_training_job decide, and tells what came of it as Events. Loop thread.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/event_recorder.h"
#include "controllers/runtime/controller.h"
#include "controllers/training/plan_training_job.h"

namespace yard {

class TrainingController {
 public:
  TrainingController(Loop& loop, Client& client, TrainingSettings settings = {});
  ~TrainingController();
  bool is_idle() const { return jobs_.is_idle(); }
  // training_operator_jobs_*_total by namespace and framework; pods and Services by namespace;
  // mpi_operator_*.
  std::string metrics() const;

 private:
  // What is remembered of a job between looks; lost with the process and rebuilt from its pods.
  struct Memory {
    std::string uid;
    ObjectPtr job;       // as last seen, for Events about one that is gone
    bool is_v2 = false;  // an MPIJob of v2beta1, which has an operator of its own upstream
    int create_failures = 0;
    Time create_after{};
    std::unordered_map<std::string, ReplicaPod> pods;  // by uid, as of their revision
    std::unordered_set<std::string> told;              // keys of remarks
  };
  struct Counts {
    uint64_t created = 0, deleted = 0, successful = 0, failed = 0, restarted = 0;
  };

  struct Children {
    uint64_t created_pods = 0, deleted_pods = 0, failed_pods = 0;
    uint64_t created_services = 0, failed_services = 0;
  };

  void add_all();
  void hear_job(const ObjectEvent& event);
  void hear_dependent(const ObjectEvent& event);
  void hear_node(const ObjectEvent& event);
  Plan plan(const ObjectKey& key);
  TrainingWorld observe(TrainingJob job, Memory& memory);
  void observe_dependents(TrainingWorld& world, Memory& memory);
  void observe_extras(TrainingWorld& world);
  void keep_new_remarks(Plan& plan, std::vector<Remark> remarks, Memory& memory, bool first_look);
  void heard(const ObjectKey& key, const ClientWrite& asked, const Result<ObjectPtr>& answer);
  std::string mpi_metrics() const;
  void count_child(const std::string& ns, bool of_pod, bool creates, bool done);
  bool is_there_already(const ObjectKey& key, const ClientWrite& asked) const;
  void tell(const ObjectKey& key, const EventNote& note);
  EventRecorder& recorder_of(std::string_view component);

  Loop& loop_;
  Client& client_;
  const TrainingSettings settings_;
  std::map<ObjectKey, Memory> memory_;
  std::map<std::string, EventRecorder, std::less<>> recorders_;        // by component
  std::map<std::pair<std::string, std::string_view>, Counts> counts_;  // namespace, framework
  Counts mpi_v2_;
  std::map<std::string, Children> children_;  // by namespace
  Controller jobs_;
  std::vector<Client::Subscription> subscriptions_;
};

}  // namespace yard
