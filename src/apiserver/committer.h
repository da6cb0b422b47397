#pragma once
// Carries the Changes the verbs plan to the store: looks up the live object, has the verb run,
// commits, and runs the verb again when another writer was first. Loop thread, except where a
// `compute` runs the verb elsewhere.

#include <functional>
#include <memory>
#include <mutex>

#include "apiserver/change.h"
#include "apiserver/cluster_facts.h"
#include "apiserver/commit_checks.h"
#include "base/loop.h"
#include "client/tree_cache.h"
#include "store/store.h"

namespace yard {

struct WriteJob {
  WriteContext context;  // now, seed, cluster and live_tree are filled for each attempt
  std::function<Result<Change>(const WriteContext&, const ObjectPtr& live)> plan;
  bool creates = false;  // POST: there is no live object to look up first
  bool generates_name = false;
  int attempts = 0;
};

struct WriteAnswer {
  Change change;
  ObjectPtr object;  // as stored (or, of a delete, as it last was); null for dry runs
};

class Committer {
 public:
  using Done = std::function<void(Result<WriteAnswer>)>;
  // Runs a task where verbs may run: an I/O thread, or inline on the loop.
  using Compute = std::function<void(std::function<void()>)>;

  Committer(Loop& loop, Store& store, const ClusterFactsKeeper& facts, uint64_t seed);

  // Trees of what was read or written last, for readers on the loop.
  TreeCache& trees() { return trees_; }

  // From an I/O thread: a POST is planned right here, before the loop hears of it.
  void run_from_io(WriteJob job, Compute compute, Done done);
  // From the loop: the verb runs inline, or by `compute`. `done` is never called before this
  // returns.
  void run_inline(WriteJob job, Done done) { run_from_loop(std::move(job), {}, std::move(done)); }
  void run_from_loop(WriteJob job, Compute compute, Done done);

 private:
  struct Flow;
  void begin(const std::shared_ptr<Flow>& flow);
  void plan(const std::shared_ptr<Flow>& flow);
  void commit(const std::shared_ptr<Flow>& flow, Result<Change> change);
  // False when the change may not be stored; the flow then goes on by itself.
  void refuse(const std::shared_ptr<Flow>& flow, Error why);
  void finish_dry_run(const std::shared_ptr<Flow>& flow, Change change);
  bool passes_checks(const std::shared_ptr<Flow>& flow, const Key& key, const Change& change);
  void lost_race(const std::shared_ptr<Flow>& flow, const Error& why);
  uint64_t next_seed();

  Loop& loop_;
  Store& store_;
  const ClusterFactsKeeper& facts_;
  CommitChecks checks_;
  TreeCache trees_;
  std::mutex mutex_;
  Random seeds_;
};

}  // namespace yard
