#pragma once
// The status a Job should show, from what was decided (kubernetes-core A3, A12, A17).

#include "controllers/batch/accounting.h"

namespace yard {

struct StatusFacts {
  size_t active = 0, ready = 0, terminating = 0;
  std::optional<Time> start_time;
  Accounts accounts;
  IndexSet failed_indexes;
  std::optional<JobEnd> end;
  bool is_over = false;           // write the final condition too
  std::optional<bool> suspended;  // what the Suspended condition should say; none: leave it
};

// The whole Job with its next status.
Json with_status(const JobFacts& job, const StatusFacts& facts, Time now);

// Whether writing this would change what the condition says. A Job that never was suspended has
// none, and gets none.
bool turns_suspended(const JobFacts& job, bool suspended);

}  // namespace yard
