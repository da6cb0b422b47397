#pragma once
// Who waits for a node, in the order of their turns: the higher priority first, then who came
// first. A gang has one turn, that of its first member.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/placer.h"

namespace yard {

class WaitingQueue {
 public:
  // What decides when it is a pod's turn.
  struct Place {
    int64_t below_most = 0;  // the priority, from above
    Time created{};
    uint64_t arrival = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // Refers to it until it is removed.
  void add(const WaitingPod& pod);
  void remove(const WaitingPod& pod);  // nothing happens where it is not there
  bool empty() const { return pods_.empty(); }
  struct Turn {
    std::vector<const WaitingPod*> pods;  // one, or the members of a gang, its leader first
    size_t passed_by = 0;
    bool is_end = false;  // all had theirs
  };
  // Whose turn comes next after `reached` (nothing: from the start), which moves on. Pods of no
  // gang that `passes_by` is true of have none; after `most` of them it ends without one, to be
  // asked again.
  Turn next(std::optional<Place>& reached, const std::function<bool(const WaitingPod&)>& passes_by,
            size_t most) const;

 private:
  std::map<Place, const WaitingPod*> pods_;
  std::map<std::string, std::set<Place>> gangs_;  // by namespace and name
};

}  // namespace yard
