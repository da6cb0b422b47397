#pragma once
// The keys a controller has yet to look at. Set semantics (api-machinery 11.3): a key added twice
// is looked at once; a key added while it is in work is looked at again afterwards, never by two at
// once. Loop thread.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct ObjectKey {
  Resource resource;
  std::string ns, name;  // ns is empty for cluster-scoped kinds
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
std::string to_text(const ObjectKey& key);  // Pod default/mnist-worker-0

struct WorkQueueLimits {
  Duration first_retry = std::chrono::milliseconds(5);  // doubled with every failure in a row
  Duration longest_retry = std::chrono::seconds(1000);
  size_t most_keys = 1'000'000;  // waiting, delayed, failing or in work
};

class WorkQueue {
 public:
  // `ready` is called when a key may be taken that could not before; it may be called inline.
  WorkQueue(Loop& loop, WorkQueueLimits limits, Task ready);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False when the queue is full and the key was dropped; overflowed() says so until it is asked.
  bool add(const ObjectKey& key);
  bool add_after(const ObjectKey& key, Duration delay);  // the earliest of several delays counts
  void add_rate_limited(const ObjectKey& key);           // after first_retry · 2^failures
  void forget(const ObjectKey& key);  // it went well: the next failure is the first

  // The oldest waiting key, now in work until done().
  std::optional<ObjectKey> take();
  void done(const ObjectKey& key);

  bool has_ready() const { return !ready_keys_.empty(); }
  size_t waiting() const { return ready_keys_.size(); }
  bool is_idle() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  bool take_overflow();  // whether a key was dropped since the last call

 private:
  struct Entry;
  using Entries = std::map<ObjectKey, Entry>;
  using Delays = std::multimap<Time, Entries::iterator>;
  struct Entry {
    bool dirty = false;
    bool in_work = false;
    int failures = 0;
    std::optional<Delays::iterator> delay;
  };

  Entries::iterator entry(const ObjectKey& key);  // end() when full
  void make_dirty(Entries::iterator at);
  void drop_if_idle(Entries::iterator at);
  void arm();
  void wake();

  Loop& loop_;
  const WorkQueueLimits limits_;
  Task ready_;
  Entries entries_;
  std::deque<Entries::iterator> ready_keys_;  // dirty and not in work, oldest first
  Delays delays_;
  TimerId timer_ = 0;
  Time armed_for_{};
  bool overflowed_ = false;
};

}  // namespace yard
