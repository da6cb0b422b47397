#pragma once
// What the planner reads of a replica's pod, decoded once for each revision.

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "controllers/batch/job_facts.h"
#include "controllers/training/training_job.h"

namespace yard {

struct ReplicaPod {
  std::string name, uid, node;
  Revision revision = 0;
  std::string label;      // of its type: worker
  std::string gang_size;  // as its annotation has it
  std::optional<int> index;
  int generation = 0;
  PodPhase phase = PodPhase::Pending;
  bool being_deleted = false;
  Time deletion_due{};        // when its grace is over
  bool is_started = false;    // a node has taken it up
  bool is_disrupted = false;  // evicted, preempted or its node lost: no failure of its own (R2)
  std::optional<int64_t> deadline_seconds;
  int64_t restarts = 0;  // of its containers, in place
  // The state of the kind's main container, while it is ended.
  std::optional<int64_t> exit_code;
  bool others_run = false;  // containers beside the main one that have not ended
  // For people: what ended first, and what is wrong while it runs.
  std::string failure;
  struct Trouble {
    std::string reason, message;
  };
  std::vector<Trouble> troubles;

  bool is_terminal() const { return phase == PodPhase::Succeeded || phase == PodPhase::Failed; }
};
ReplicaPod replica_pod(const TrainingJob& job, const Json& tree, Revision revision);

// The phase the job goes by: the main container's where that decides (R14).
PodPhase decisive_phase(const TrainingJob& job, const ReplicaPod& pod);

// Whether a failure of this code may be tried again; none is what no container explains.
bool is_retryable_code(std::optional<int64_t> code);

}  // namespace yard
