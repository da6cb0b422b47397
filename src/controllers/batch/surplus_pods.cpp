#include "controllers/batch/surplus_pods.h"

#include <algorithm>
#include <map>
#include <set>

namespace yard {
namespace {

int phase_rank(PodPhase phase) {
  if (phase == PodPhase::Pending) return 0;
  return phase == PodPhase::Running ? 2 : 1;
}

bool is_cheaper(const PodFacts* left, const PodFacts* right) {
  if (left->is_scheduled != right->is_scheduled) return !left->is_scheduled;
  if (phase_rank(left->phase) != phase_rank(right->phase))
    return phase_rank(left->phase) < phase_rank(right->phase);
  if (left->is_ready != right->is_ready) return !left->is_ready;
  if (left->is_ready && left->ready_since != right->ready_since)
    return left->ready_since > right->ready_since;
  if (left->restarts != right->restarts) return left->restarts > right->restarts;
  return left->created > right->created;
}

}  // namespace

void sort_by_loss(PodRefs& pods) {
  std::ranges::stable_sort(pods, is_cheaper);
}

PodRefs duplicate_pods(const JobFacts& job, PodRefs active) {
  PodRefs out;
  sort_by_loss(active);
  std::map<int, const PodFacts*> best;  // of those seen so far, the dearest comes last
  for (const PodFacts* pod : active) {
    if (!job.is_valid_index(pod->index)) {
      out.push_back(pod);
      continue;
    }
    const PodFacts*& kept = best[*pod->index];
    if (kept != nullptr) out.push_back(kept);
    kept = pod;
  }
  return out;
}

PodRefs surplus_pods(const JobFacts& job, PodRefs active, size_t surplus) {
  PodRefs out;
  if (job.indexed) out = duplicate_pods(job, active);
  if (out.size() >= surplus) return out;
  const std::set<const PodFacts*> chosen(out.begin(), out.end());
  std::erase_if(active, [&](const PodFacts* pod) { return chosen.contains(pod); });
  sort_by_loss(active);
  const size_t more = std::min(surplus - out.size(), active.size());
  out.insert(out.end(), active.begin(), active.begin() + static_cast<std::ptrdiff_t>(more));
  return out;
}

}  // namespace yard
