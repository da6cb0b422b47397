#include "apiserver/committer.h"

#include "apiserver/status.h"

namespace yard {
namespace {

constexpr int kMostAttempts = 32;       // a writer that loses this often is told so
constexpr int kGeneratedNameTries = 8;  // as upstream

// Renewals of leases and counts of events may ride in a later batch (design.md §4).
bool is_relaxed(const Kind& stored, const Change& change) {
  return change.type == Change::Type::Store && change.expected != 0 &&
         (stored.kind == "Lease" || stored.kind == "Event");
}

}  // namespace

struct Committer::Flow {
  WriteJob job;
  Compute compute;  // empty: inline on the loop
  Done done;
  ObjectPtr live;
  std::string taken;  // the address the last attempt could not have

  Key key() const { return Key{job.context.stored->storage, job.context.ns, job.context.name}; }
  // Answers always come from a later turn of the loop, so that callers hold no half-made state.
  void finish(Result<WriteAnswer> answer) { done(std::move(answer)); }
};

Committer::Committer(Loop& loop, Store& store, const ClusterFactsKeeper& facts, uint64_t seed)
    : loop_(loop), store_(store), facts_(facts), checks_(store), seeds_(seed) {}

uint64_t Committer::next_seed() {
  const std::lock_guard lock(mutex_);
  return seeds_.next();
}

void Committer::run_from_io(WriteJob job, Compute compute, Done done) {
  auto flow = std::make_shared<Flow>(
      Flow{std::move(job), std::move(compute), std::move(done), nullptr, {}});
  if (flow->job.creates) {
    plan(flow);
  } else {
    loop_.post([this, flow] { begin(flow); });
  }
}

void Committer::run_from_loop(WriteJob job, Compute compute, Done done) {
  auto flow = std::make_shared<Flow>(
      Flow{std::move(job), std::move(compute), std::move(done), nullptr, {}});
  loop_.post([this, flow] { begin(flow); });
}

void Committer::begin(const std::shared_ptr<Flow>& flow) {
  WriteContext& context = flow->job.context;
  context.live_tree.reset();
  if (!flow->job.creates) flow->live = store_.get_pending(flow->key());
  if (flow->live != nullptr && !context.kind->from_stored)
    context.live_tree = trees_.known(flow->live);
  if (flow->compute) {
    flow->compute([this, flow] { plan(flow); });
  } else {
    plan(flow);
  }
}

void Committer::plan(const std::shared_ptr<Flow>& flow) {
  WriteContext& context = flow->job.context;
  context.now = loop_.now();
  context.seed = next_seed();
  context.cluster = facts_.facts();
  auto change = flow->job.plan(context, flow->live);
  if (!flow->compute) {
    commit(flow, std::move(change));
    return;
  }
  loop_.post([this, flow, change = std::make_shared<Result<Change>>(std::move(change))] {
    commit(flow, std::move(*change));
  });
}

void Committer::commit(const std::shared_ptr<Flow>& flow, Result<Change> planned) {
  if (!planned) return refuse(flow, std::move(planned).error());
  Change& change = *planned;
  WriteContext& context = flow->job.context;
  if (context.options.dry_run) return finish_dry_run(flow, std::move(change));
  if (change.type == Change::Type::Nothing) {
    // What stands may not be durable yet; nobody hears of it before it is.
    auto answer = std::make_shared<WriteAnswer>(WriteAnswer{std::move(change), flow->live});
    store_.when_durable(flow->key(), [flow, answer](bool durable) {
      if (durable) return flow->finish(std::move(*answer));
      flow->finish(
          error(Reason::InternalError,
                "Internal error occurred: the write this one built on could not be stored"));
    });
    return;
  }
  Key key = flow->key();
  if (change.is_create()) {
    key.name = change.object->name();
    context.cluster = facts_.facts();
    if (auto accepts = check_namespace_accepts(context, key.name); !accepts)
      return flow->finish(std::move(accepts).error());
  }
  if (!passes_checks(flow, key, change)) return;
  const bool deletes = change.type == Change::Type::Delete;
  std::optional<Key> checked;  // a copy only where someone wants to hear of it
  if (checks_.concerns(key)) checked = key;
  Write write{std::move(key), change.expected, deletes ? nullptr : change.object,
              is_relaxed(*context.stored, change)};
  const std::shared_ptr<JsonBlock> tree = std::move(change.tree);
  auto kept = std::make_shared<Change>(std::move(change));
  const ObjectPtr accepted =
      store_.write(std::move(write), [this, flow, kept, checked](Result<Committed> committed) {
        if (checked) checks_.wrote(*checked);
        if (committed) return flow->finish(WriteAnswer{std::move(*kept), committed->object});
        if (kept->is_create() && kept->object != nullptr && flow->job.creates) {
          flow->job.context.name = kept->object->name();
        }
        lost_race(flow, committed.error());
      });
  if (tree != nullptr && accepted != nullptr) {
    object_at(tree->tree.get_object(), "metadata")["resourceVersion"] =
        std::to_string(accepted->revision());
    trees_.expect(accepted, SharedJson(tree));
  }
  if (checked) checks_.wrote(*checked);
}

// What is gone by a write under way is told to be gone when readers see it too.
void Committer::refuse(const std::shared_ptr<Flow>& flow, Error why) {
  const bool is_gone = why.reason == Reason::NotFound && !flow->job.creates &&
                       flow->live == nullptr && store_.get(flow->key()) != nullptr;
  if (!is_gone) return flow->finish(std::move(why));
  store_.when_durable(flow->key(), [this, flow, why = std::move(why)](bool durable) {
    if (durable || ++flow->job.attempts >= kMostAttempts) return flow->finish(why);
    begin(flow);
  });
}

// Everything but the write itself is judged as if it were one.
void Committer::finish_dry_run(const std::shared_ptr<Flow>& flow, Change change) {
  Key key = flow->key();
  if (change.is_create()) {
    key.name = change.object->name();
    if (store_.get_pending(key) != nullptr) {
      flow->job.context.name = key.name;
      return lost_race(flow, error(Reason::AlreadyExists, ""));
    }
  }
  if (passes_checks(flow, key, change)) flow->finish(WriteAnswer{std::move(change), flow->live});
}

bool Committer::passes_checks(const std::shared_ptr<Flow>& flow, const Key& key,
                              const Change& change) {
  if (change.type != Change::Type::Store || !checks_.concerns(key)) return true;
  if (auto taken = checks_.taken_address(key, *change.object)) {
    // An address that was drawn is drawn again; one that was asked for comes back the same.
    if (flow->taken == taken->address) {
      flow->finish(std::move(taken->why));
    } else if (++flow->job.attempts < kMostAttempts) {
      flow->taken = std::move(taken->address);
      begin(flow);
    } else {
      flow->finish(error(Reason::InternalError,
                         "Internal error occurred: failed to allocate a serviceIP: range is full"));
    }
    return false;
  }
  const WriteContext& context = flow->job.context;
  if (context.subresource == "status") return true;
  if (auto allowed = checks_.check_quota(*context.kind, key, *change.object); !allowed) {
    flow->finish(std::move(allowed).error());
    return false;
  }
  return true;
}

void Committer::lost_race(const std::shared_ptr<Flow>& flow, const Error& why) {
  const Kind& kind = *flow->job.context.kind;
  const std::string name = flow->job.context.name;
  ++flow->job.attempts;
  switch (why.reason) {
    case Reason::AlreadyExists:
      if (flow->job.creates) {
        flow->job.context.name.clear();
        const ObjectPtr live =
            store_.get_pending(Key{flow->job.context.stored->storage, flow->job.context.ns, name});
        Error exists = already_exists_error(kind, name);
        if (live != nullptr && live->is_being_deleted())
          exists.message = "object is being deleted: " + exists.message;
        // Only a generated name is worth another try: the next attempt draws another.
        if (!name.empty() && flow->job.generates_name) {
          if (flow->job.attempts < kGeneratedNameTries) return begin(flow);
          exists.message += ", the server was not able to generate a unique name for the object";
          exists.details.retry_after_seconds = 1;
        }
        return flow->finish(std::move(exists));
      }
      [[fallthrough]];
    case Reason::NotFound:
    case Reason::Conflict:
      if (flow->job.attempts < kMostAttempts) return begin(flow);
      return flow->finish(modified_error(kind, name));
    default: break;
  }
  Error failed = error(Reason::InternalError, "Internal error occurred: " + why.message);
  failed.details.causes.push_back({"", why.message, ""});
  flow->finish(std::move(failed));
}

}  // namespace yard
