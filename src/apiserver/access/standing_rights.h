#pragma once
// Rights of what outlives its request: watches, logs that are followed, processes and ports of
// pods. A stream is open for hours; rights are withdrawn at once. Loop thread.

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "store/store.h"

namespace yard {

// What a stream stands on.
struct StreamRights {
  std::optional<Time> ends;               // of the token or certificate
  std::vector<std::string> bound_uids;    // the token's ServiceAccount, pod and Secret
  std::function<bool()> is_allowed = {};  // empty: always
};

class StandingRights {
 public:
  StandingRights(Loop& loop, Store& store);
  ~StandingRights();
  StandingRights(const StandingRights&) = delete;
  StandingRights& operator=(const StandingRights&) = delete;

  // For as long as it is kept, `ended` is called, once, when the rights are gone: their time is
  // over, a holder of the token has gone, a role or binding says so.
  using Hold = std::shared_ptr<void>;
  Hold hold(StreamRights rights, std::function<void()> ended);

 private:
  struct Entry;
  void listen();
  void hear_of_holder(const StoreEvent& event);
  void recheck_all();
  static void judge(const std::vector<std::weak_ptr<Entry>>& entries);
  void forget(Entry& entry);

  Loop& loop_;
  Store& store_;
  std::vector<Store::ListenerId> listeners_;
  std::list<std::weak_ptr<Entry>> entries_;
  std::unordered_multimap<std::string, std::weak_ptr<Entry>> bound_;  // by the uid of a holder
  bool will_recheck_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
