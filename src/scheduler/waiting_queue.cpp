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

std::vector<const WaitingPod*> WaitingQueue::next(std::optional<Place>& reached) const {
  for (auto at = reached ? pods_.upper_bound(*reached) : pods_.begin(); at != pods_.end(); ++at) {
    reached = at->first;
    const WaitingPod& pod = *at->second;
    if (!pod.is_of_gang()) return {&pod};
    const std::set<Place>& members = gangs_.at(gang_key(pod));
    if (*members.begin() != at->first) continue;  // had its turn with the first
    std::vector<const WaitingPod*> out;
    for (const Place& place : members)
      out.push_back(pods_.at(place));
    // Where not all have room, those without the leader would only wait for it.
    std::ranges::stable_sort(out, std::greater<>(), [](const WaitingPod* member) {
      return std::pair(member->pod.priority, member->leads);
    });
    return out;
  }
  return {};
}

}  // namespace yard
