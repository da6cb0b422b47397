#pragma once
// Starts the jobs of CronJobs when they are due, by timer. Loop thread.

#include "controllers/batch/plan_cron_job.h"
#include "client/event_recorder.h"

namespace yard {

class CronController {
 public:
  CronController(Loop& loop, Client& client);
  ~CronController();

 private:
  Plan plan(const ObjectKey& key);
  void hear_job(const Object& job);
  void heard(const ObjectKey& key, const ClientWrite& asked, const Result<ObjectPtr>& answer);
  void tell(const ObjectKey& key, const EventNote& note);

  Loop& loop_;
  Client& client_;
  EventRecorder recorder_;
  Controller controller_;
  Client::Subscription crons_ = 0, jobs_ = 0;
};

}  // namespace yard
