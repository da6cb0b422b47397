#pragma once
// successPolicy of Indexed Jobs: when the Job has succeeded although indexes remain
// (kubernetes-core A10).

#include <optional>

#include "controllers/batch/job_facts.h"

namespace yard {

// The first rule that the succeeded indexes meet.
std::optional<size_t> met_success_rule(const JobFacts& job, const IndexSet& succeeded);

}  // namespace yard
