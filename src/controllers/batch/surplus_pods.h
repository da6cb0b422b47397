#pragma once
// Which active pods go when there are too many (kubernetes-core A4.7).

#include "controllers/batch/backoff.h"

namespace yard {

// Those whose loss costs least come first.
void sort_by_loss(PodRefs& pods);

// Of an Indexed Job: pods without a valid index, and all but the best of an index.
PodRefs duplicate_pods(const JobFacts& job, PodRefs active);

// At least `surplus` pods, the cheapest; of an Indexed Job all duplicates in any case.
PodRefs surplus_pods(const JobFacts& job, PodRefs active, size_t surplus);

}  // namespace yard
