#pragma once
// Keeps ClusterFacts true: listens to the few storages they come from.

#include <memory>
#include <mutex>

#include "api/kind.h"
#include "store/store.h"

namespace yard {

class ClusterFactsKeeper {
 public:
  explicit ClusterFactsKeeper(Store& store);
  ~ClusterFactsKeeper();
  std::shared_ptr<const ClusterFacts> facts() const;  // any thread

 private:
  void rebuild();
  Store& store_;
  std::vector<Store::ListenerId> listeners_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ClusterFacts> facts_;
};

}  // namespace yard
