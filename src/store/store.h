#pragma once
// Objects by key and revision, in memory, durable through a Log. Lives on the loop thread; plain,
// without locks.
//
// A write is checked against the newest pending version of its key and joins the open batch;
// readers, watchers and the one who asked see it after the batch is durable. A failed batch fails
// with all writes built on it.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/loop.h"
#include "store/log.h"

namespace yard {

struct Key {
  std::string storage;  // "jobs.batch"
  std::string ns;       // empty for cluster-scoped kinds
  std::string name;
  friend auto operator<=>(const Key&, const Key&) = default;
};

// What happened to one object. `previous` is null for a create, `object` for a delete is the last
// state carrying the revision of the deletion.
struct StoreEvent {
  enum class Type { Added, Modified, Deleted };
  Type type;
  Revision revision;
  ObjectPtr object;
  ObjectPtr previous;
};
using StoreEventPtr = std::shared_ptr<const StoreEvent>;

struct Write {
  Key key;
  // The revision the writer saw: 0 means the key must not exist. Anything else must be the newest
  // pending one.
  Revision expected = 0;
  ObjectPtr object;  // without revision; null deletes
  // Acknowledged and shown before it is durable (as soon as no older write waits) and batched
  // within a second: lease renewals and event counts.
  bool relaxed = false;
};

// What a committed write became.
struct Committed {
  Revision revision;
  ObjectPtr object;  // as stored; for a delete the last state at the revision of the deletion
};

// A consistent view of one storage at one revision.
struct Listing {
  Revision revision = 0;
  std::vector<ObjectPtr> objects;  // in key order: namespace, then name
  bool more = false;               // cut at `limit`
  size_t remaining = 0;            // how many are left when cut; not counted (0) under a matcher
};

struct ListRange {
  // The initialisers let a caller name only the members it means.
  std::string ns = {};                              // empty: all namespaces
  std::string after_ns = {}, after_name = {};       // start behind this key (continue)
  size_t limit = 0;                                 // 0: no limit
  std::function<bool(const Object&)> matches = {};  // empty: everything
};

struct StoreLimits {
  size_t history_events = 20'000;                  // per storage
  size_t history_bytes = 16 << 20;                 // of superseded objects, per storage
  Duration history_age = std::chrono::minutes(5);  // compaction keeps at least this
  // With more encoded bytes than these, objects that were not written for so long become cold.
  size_t cold_above_bytes = 64 << 20;
  Duration cold_age = std::chrono::minutes(1);
};

class Store {
 public:
  // What a write waits for: the outcome after the commit. Never called inline from write().
  using Done = std::function<void(Result<Committed>)>;
  // Called on the loop once per durable event, in revision order.
  using Listener = std::function<void(const StoreEventPtr&)>;
  using ListenerId = uint64_t;

  Store(Loop& loop, std::unique_ptr<Log> log, StoreLimits limits = {});
  ~Store();
  Result<void> open();  // replays the log

  // Of the newest write of any kind that readers see. After a start it is the highest revision that
  // may have been given out before, so that it never goes back; never 0, which means "any" to
  // clients.
  Revision revision() const;

  ObjectPtr get(const Key& key) const;          // newest durable
  ObjectPtr get_pending(const Key& key) const;  // newest, durable or not: what a verb must build on
  // AlreadyExists when expected is 0 and the key is there, NotFound when it is not, Conflict when
  // the revision differs; `done` gets the error in that case too. Errors carry no message: the
  // verbs know the words. A failed commit is the log's error with its message. The key must be the
  // object's own namespace and name. Returns the object as it will be shown, with its revision; null
  // for a deletion, and where there is an error.
  ObjectPtr write(Write write, Done done);
  // Calls `done` once the newest pending version of the key is durable (true) or its batch failed
  // (false); on a later turn at once when nothing of it is pending.
  void when_durable(const Key& key, std::function<void(bool)> done);
  // Several at once, one batch: each succeeds or fails alone.
  void write_all(std::vector<Write> writes,
                 std::function<void(std::vector<Result<Committed>>)> done);

  Listing list(std::string_view storage, const ListRange& range) const;
  // The same as it was at `revision`; Expired when the history no longer reaches there, Timeout
  // when it is yet to come.
  Result<Listing> list_at(std::string_view storage, const ListRange& range,
                          Revision revision) const;
  size_t count(std::string_view storage) const;
  std::vector<std::string> storages() const;
  // Objects naming `uid` among their owners, over all storages.
  std::vector<std::pair<Key, ObjectPtr>> dependents(std::string_view owner_uid) const;

  // Events after `since`, oldest first; Expired when the history does not reach there.
  Result<std::vector<StoreEventPtr>> history(std::string_view storage, Revision since) const;
  ListenerId listen(std::string_view storage, Listener listener);  // "" listens to every storage
  void forget(ListenerId listener);

  // For /metrics.
  struct Statistics {
    uint64_t commits = 0, writes = 0, failed_batches = 0;
    size_t objects = 0, object_bytes = 0, pending_writes = 0;
    std::vector<std::pair<double, uint64_t>> commit_seconds;  // cumulative histogram buckets
    double commit_seconds_sum = 0;
  };
  Statistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace yard
