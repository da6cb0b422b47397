#pragma once
// One look at a CronJob: its jobs, the time, and the writes that follow (kubernetes-core B).

#include <memory>
#include <vector>

#include "controllers/runtime/controller.h"

namespace yard {

inline const Resource kCronJobResource{"batch/v1", "CronJob"};

struct CronJobWorld {
  Json cron;
  std::vector<Json> jobs;  // that it controls
  Time now;
};
Plan plan_cron_job(const CronJobWorld& world);

// The Job of one slot: named after the slot, so that it cannot be made twice.
Json job_of_slot(const Json& cron, Time slot);
std::string job_name(const Json& cron, Time slot);

}  // namespace yard
