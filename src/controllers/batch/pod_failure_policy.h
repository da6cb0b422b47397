#pragma once
// podFailurePolicy: what one failed pod means for its Job (kubernetes-core A9).

#include <string>

#include "controllers/batch/job_facts.h"

namespace yard {

struct FailureVerdict {
  enum class Action { Count, Ignore, FailIndex, FailJob };
  Action action = Action::Count;
  std::string message;  // of FailJob: the condition's
  bool counts() const { return action != Action::Ignore; }
  friend bool operator==(const FailureVerdict&, const FailureVerdict&) = default;
};

// The first rule that matches decides; without one, or without a policy, the failure counts.
FailureVerdict failure_verdict(const JobFacts& job, const PodFacts& pod);

}  // namespace yard
