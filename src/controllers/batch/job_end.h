#pragma once
// Whether a Job has come to its end, and why (kubernetes-core A4.5; the first reason that holds
// wins).

#include "controllers/batch/job_standing.h"

namespace yard {

struct JobEnd {
  bool success = false;
  std::string reason = {}, message = {};
  bool is_stored = false;  // the interim condition is in the status already
  friend bool operator==(const JobEnd&, const JobEnd&) = default;
};

// All reasons but the count of completions, which is looked at after pods were made and removed.
std::optional<JobEnd> job_end(const JobFacts& job, const JobStanding& standing,
                              std::optional<Time> start_time, Time now);

// CompletionsReached, when that is so.
std::optional<JobEnd> completion(const JobFacts& job, int succeeded, size_t active);

// How long until activeDeadlineSeconds strikes; none while suspended or without one.
std::optional<Duration> remaining_deadline(const JobFacts& job, std::optional<Time> start_time,
                                           Time now);

}  // namespace yard
