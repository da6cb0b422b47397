#include "scheduler/waiting_queue.h"

#include <algorithm>

namespace yard {
namespace {

WaitingQueue::Place place_of(const WaitingPod& pod) {
  return {-pod.pod.priority, pod.created, pod.arrival};
}

std::string gang_key(const WaitingPod& pod) {
  return pod.pod.ns + "/" + pod.pod.gang;
}

}  // namespace

void WaitingQueue::add(const WaitingPod& pod) {
  pods_[place_of(pod)] = &pod;
  if (pod.is_of_gang()) gangs_[gang_key(pod)].insert(place_of(pod));
}

void WaitingQueue::remove(const WaitingPod& pod) {
  const auto found = pods_.find(place_of(pod));
  if (found == pods_.end() || found->second != &pod) return;
  pods_.erase(found);
  if (!pod.is_of_gang()) return;
  const auto gang = gangs_.find(gang_key(pod));
  gang->second.erase(place_of(pod));
  if (gang->second.empty()) gangs_.erase(gang);
}

WaitingQueue::Turn WaitingQueue::next(std::optional<Place>& reached,
                                      const std::function<bool(const WaitingPod&)>& passes_by,
                                      size_t most) const {
  Turn out;
  for (auto at = reached ? pods_.upper_bound(*reached) : pods_.begin(); at != pods_.end(); ++at) {
    const WaitingPod& pod = *at->second;
    if (!pod.is_of_gang()) {
      if (!passes_by(pod)) {
        out.pods = {&pod};
      } else if (++out.passed_by < most) {
        continue;
      }
      reached = at->first;
      return out;
    }
    const std::set<Place>& members = gangs_.at(gang_key(pod));
    if (*members.begin() != at->first) continue;  // had its turn with the first
    reached = at->first;
    for (const Place& place : members)
      out.pods.push_back(pods_.at(place));
    // Where not all have room, those without the leader would only wait for it.
    std::ranges::stable_sort(out.pods, std::greater<>(), [](const WaitingPod* member) {
      return std::pair(member->pod.priority, member->leads);
    });
    return out;
  }
  out.is_end = true;
  return out;
}

}  // namespace yard
