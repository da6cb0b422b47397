#pragma once
// Every watch there is. Loop thread: an event is encoded once for all watchers that want the same
// form, and each watcher's stream gets a reference to those bytes.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "apiserver/access/standing_rights.h"
#include "apiserver/lister.h"
#include "apiserver/representation.h"
#include "base/loop.h"
#include "net/http.h"
#include "store/store.h"

namespace yard {

struct WatchLimits {
  size_t most_queued_bytes = 8 << 20;  // of one watcher; beyond, it is cut off with 410
  Duration bookmark_period = std::chrono::seconds(60);
  Duration before_deadline =
      std::chrono::seconds(2);  // a last bookmark, so that the next watch starts close
};

struct WatchRequest {
  KindPtr kind;
  Selection selection;
  ListOptions options;
  Rendering rendering;
  StreamRights rights;
  std::shared_ptr<void> seat;  // among its user's watches; given back at its end
};

class WatchHub {
 public:
  WatchHub(Loop& loop, Store& store, StandingRights& rights, WatchLimits limits = {});
  ~WatchHub();
  // Begins with what the options ask for (history, initial events) and goes on until the client
  // leaves, the timeout, or the watcher cannot keep up. `stream` has its headers sent.
  void begin(WatchRequest request, std::shared_ptr<HttpStream> stream);
  void end_watches(const std::function<bool(const WatchRequest&)>& of);
  void close_all();
  size_t watchers() const { return watchers_; }
  uint64_t cut_off() const { return cut_off_; }

 private:
  struct Watcher;
  struct Topic;
  using WatcherList = std::list<std::shared_ptr<Watcher>>;
  void deliver(Topic& topic, const StoreEventPtr& event);
  void send(Watcher& watcher, const SharedBytes& line);
  // The lines one event has been encoded as so far: few, so a vector is searched faster than a map.
  using Encoded = std::vector<std::pair<uint32_t, SharedBytes>>;
  void send_event(Watcher& watcher, const StoreEventPtr& event, Encoded* encoded);
  bool send_initial(const std::shared_ptr<Watcher>& watcher);
  void send_bookmark(Watcher& watcher, bool initial_events_end);
  void send_error(Watcher& watcher, const Error& error);
  void remove(const std::shared_ptr<Watcher>& watcher);
  void arm_bookmarks();
  void hold_rights(const std::shared_ptr<Watcher>& watcher);

  Loop& loop_;
  Store& store_;
  StandingRights& rights_;
  WatchLimits limits_;
  std::map<std::string, std::unique_ptr<Topic>, std::less<>> topics_;  // by storage
  std::map<std::string, uint32_t>
      forms_;  // watchers with the same form share encoded lines; few, by kind and Accept
  size_t watchers_ = 0;
  uint64_t cut_off_ = 0;
  TimerId bookmark_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
