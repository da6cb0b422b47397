#pragma once
// Pods that nobody needs any more (kubernetes-core E4): ended ones beyond a number, those whose
// node is gone, and those that wait for a node while they are deleted. By events and timers,
// without a round every so often. Loop thread.

#include <set>
#include <string>
#include <tuple>

#include "controllers/runtime/controller.h"

namespace yard {

struct PodGcLimits {
  size_t most_ended = 12500;
  Duration node_quarantine = std::chrono::seconds(40);  // a node may come back
};

// Of a pod whose node is gone: it has failed, then it goes.
Plan plan_lost_pod(const Json& pod, Time now);
Plan plan_unwanted_pod(const Json& pod);

class PodGc {
 public:
  PodGc(Loop& loop, Client& client, PodGcLimits limits = {});
  ~PodGc();

 private:
  // Evicted ones first, then the oldest.
  using Ended = std::tuple<bool, Time, std::string, std::string>;
  void hear_pod(const Object& pod, bool gone);
  void hear_node_gone(std::string_view node);
  bool node_exists(std::string_view node) const;
  Plan plan(const ObjectKey& key);

  Loop& loop_;
  Client& client_;
  const PodGcLimits limits_;
  std::set<Ended> ended_;
  std::set<ObjectKey> unwanted_;
  Controller controller_;
  Client::Subscription pods_ = 0, nodes_ = 0;
};

}  // namespace yard
