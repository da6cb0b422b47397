#include "store/store.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/check.h"
#include "store/cooler.h"
#include "store/dependents.h"
#include "store/table.h"

namespace yard {
namespace {

// Reserved at once, so that the reservation is one more row in few commits.
constexpr Revision kRevisionBlock = 1000;
constexpr Duration kRelaxedDelay = std::chrono::seconds(1);
// Compaction waits for this many superseded rows: below it there is nothing worth a timer.
constexpr size_t kSupersededRows = 1000;
// However young, the log keeps no more superseded rows than this: hours of heavy writing do not
// fill the disk with five minutes of history. Counted in steps, each a revision to compact to.
constexpr size_t kMostSupersededRows = 100'000, kRowsPerMark = 10'000;
// Upper bounds of the commit histogram in seconds; what is slower shows in the count alone.
constexpr std::array kCommitSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                       0.05,   0.1,   0.25,   1.0,   5.0};

// A write that is accepted but not yet seen by readers.
struct Waiting {
  Key key;
  Revision revision;
  Revision supersedes;
  ObjectPtr object;  // null: a deletion
  ObjectPtr last;    // of a deletion: the last state at its revision
  bool relaxed;      // may be shown before it is durable
  Store::Done done;

  LogRecord record() const { return {revision, supersedes, key.storage, key.ns, key.name, object}; }
};

struct ListenerEntry {
  Store::ListenerId id;
  Store::Listener call;
  bool forgotten = false;
};
using Listeners = std::vector<std::shared_ptr<ListenerEntry>>;

ObjectNameView name_view(const Key& key) {
  return {key.ns, key.name};
}

}  // namespace

// Writes wait in `queue` in revision order. A commit takes the whole queue as its batch (the first
// `in_flight` entries) with the shown but unsaved relaxed writes; what arrives meanwhile waits for
// the next.
struct Store::State {
  State(Loop& the_loop, std::unique_ptr<Log> the_log, StoreLimits the_limits)
      : loop(the_loop),
        log(std::move(the_log)),
        limits(the_limits),
        cooler(loop, tables, limits,
               {.look =
                    [this] {
                      return Cooler::Situation{encoded_bytes, shown_revision};
                    },
                .replaced =
                    [this](const Object& before, const Object& after) {
                      counts.object_bytes -= before.memory();
                      counts.object_bytes += after.memory();
                    }}) {}

  Table& table(std::string_view storage);
  const Table* find_table(std::string_view storage) const;
  ObjectPtr durable(const Key& key) const;
  ObjectPtr newest(const Key& key) const;

  void replay(LogRecord record);
  std::optional<Error> objection(const Write& write, const Object* current) const;
  ObjectPtr accept(Write write, const ObjectPtr& current, Done done);
  void fail_later(Error error, Done done);

  void schedule();
  void turn();
  void start_commit();
  void finish_commit(Result<void> outcome, Revision reserve_through, Time started);
  void fail_batch(const Error& error);
  void show(std::vector<Waiting> writes);
  void show_relaxed_head(std::vector<Waiting>& shown);
  StoreEventPtr apply(Table& table, const Key& key, ObjectPtr object, ObjectPtr last,
                      Revision at_revision);
  void bound_history();
  void arm_compaction();
  void publish(const Table& table, const StoreEventPtr& event);
  void sweep();
  void arm_relaxed_timer();
  void save_the_rest();

  // A task that does nothing once the store is gone.
  template <typename Function>
  Task while_alive(Function function) {
    return [guard = std::weak_ptr<int>(alive), function = std::move(function)]() mutable {
      if (!guard.expired()) function();
    };
  }

  Loop& loop;
  std::unique_ptr<Log> log;
  const StoreLimits limits;
  std::map<std::string, Table, std::less<>> tables;
  Dependents dependents;
  size_t encoded_bytes = 0;
  std::shared_ptr<int> alive = std::make_shared<int>();

  Revision shown_revision = 1;  // of the newest write that readers see; 0 means "any" to clients
  Revision next_revision = 2;
  Revision reserved = 0;   // durably: below it a write may be shown before it is saved
  Revision compacted = 0;  // as the log said when it was opened

  std::deque<Waiting> queue;
  std::map<Key, std::pair<Revision, ObjectPtr>> pending;  // newest waiting version of a key
  size_t in_flight = 0;
  bool committing = false;
  bool scheduled = false;
  bool relaxed_due = false;
  std::map<Key, LogRecord> unsaved, unsaved_in_flight;  // shown, newest of a key
  TimerId relaxed_timer = 0;

  size_t superseded = 0, superseded_at_timer = 0;
  std::deque<Revision> marks;  // one for every kRowsPerMark rows superseded, oldest first
  size_t superseded_since_mark = 0;
  TimerId compaction_timer = 0;

  std::map<std::string, Listeners, std::less<>> listeners;  // "" hears everything
  ListenerId next_listener = 1;
  bool publishing = false, must_sweep = false;

  Cooler cooler;

  Statistics counts;
  std::array<uint64_t, kCommitSeconds.size()> commit_buckets{};
};

Table& Store::State::table(std::string_view storage) {
  const auto found = tables.find(storage);
  if (found != tables.end()) return found->second;
  const std::string name(storage);
  return tables.try_emplace(name, name, limits, compacted).first->second;
}

const Table* Store::State::find_table(std::string_view storage) const {
  const auto found = tables.find(storage);
  return found == tables.end() ? nullptr : &found->second;
}

ObjectPtr Store::State::durable(const Key& key) const {
  const Table* table = find_table(key.storage);
  return table ? table->find(name_view(key)) : nullptr;
}

ObjectPtr Store::State::newest(const Key& key) const {
  if (!pending.empty()) {
    const auto found = pending.find(key);
    if (found != pending.end()) return found->second.second;
  }
  return durable(key);
}

void Store::State::replay(LogRecord record) {
  Key key{std::move(record.storage), std::move(record.ns), std::move(record.name)};
  Table& home = table(key.storage);
  ObjectPtr last;
  if (!record.object) {
    const ObjectPtr previous = home.find(name_view(key));
    if (!previous) return;
    last = Object::with_revision(*previous, record.revision);
  }
  apply(home, key, std::move(record.object), std::move(last), record.revision);
}

std::optional<Error> Store::State::objection(const Write& write, const Object* current) const {
  if (!current) {
    const bool creates = write.expected == 0 && write.object;
    if (creates) return std::nullopt;
    return error(Reason::NotFound, "");
  }
  if (write.expected == 0)
    return error(write.object ? Reason::AlreadyExists : Reason::Conflict, "");
  if (write.expected != current->revision()) return error(Reason::Conflict, "");
  return std::nullopt;
}

ObjectPtr Store::State::accept(Write write, const ObjectPtr& current, Done done) {
  if (write.object) {
    check(write.object->name() == write.key.name && write.object->ns() == write.key.ns,
          "an object is stored under its own name");
  }
  const Revision revision = next_revision++;
  Waiting waiting{.key = std::move(write.key),
                  .revision = revision,
                  .supersedes = write.expected,
                  .object = write.object ? Object::with_revision(*write.object, revision) : nullptr,
                  .last = write.object ? nullptr : Object::with_revision(*current, revision),
                  .relaxed = write.relaxed && revision <= reserved,
                  .done = std::move(done)};
  ObjectPtr accepted = waiting.object;
  pending[waiting.key] = {revision, accepted};
  ++counts.writes;
  queue.push_back(std::move(waiting));
  schedule();
  return accepted;
}

void Store::State::fail_later(Error error, Done done) {
  loop.post(while_alive(
      [error = std::move(error), done = std::move(done)]() mutable { done(std::move(error)); }));
}

// The end of the loop's turn, so that all writes of a turn share a batch.
void Store::State::schedule() {
  if (scheduled) return;
  scheduled = true;
  loop.post(while_alive([this] { turn(); }));
}

void Store::State::turn() {
  scheduled = false;
  std::vector<Waiting> shown;
  show_relaxed_head(shown);
  show(std::move(shown));
  if (!committing && (!queue.empty() || relaxed_due)) start_commit();
}

// Relaxed writes may be shown as soon as nothing older waits: watchers see revisions only grow.
void Store::State::show_relaxed_head(std::vector<Waiting>& shown) {
  if (in_flight > 0) return;
  while (!queue.empty() && queue.front().relaxed) {
    Waiting& write = queue.front();
    // Of several versions only the newest is saved; it takes the place of what the log has.
    LogRecord& record = unsaved[write.key];
    const Revision supersedes = record.revision == 0 ? write.supersedes : record.supersedes;
    record = write.record();
    record.supersedes = supersedes;
    shown.push_back(std::move(write));
    queue.pop_front();
  }
  if (!unsaved.empty()) arm_relaxed_timer();
}

void Store::State::arm_relaxed_timer() {
  if (relaxed_timer != 0) return;
  relaxed_timer = loop.after(kRelaxedDelay, while_alive([this] {
                               relaxed_timer = 0;
                               relaxed_due = true;
                               turn();
                             }));
}

void Store::State::start_commit() {
  relaxed_due = false;
  if (relaxed_timer != 0) loop.cancel(std::exchange(relaxed_timer, 0));
  unsaved_in_flight = std::move(unsaved);
  unsaved.clear();
  if (queue.empty() && unsaved_in_flight.empty()) return;

  std::vector<LogRecord> records;
  records.reserve(unsaved_in_flight.size() + queue.size());
  for (const auto& [key, record] : unsaved_in_flight)
    records.push_back(record);
  std::ranges::sort(records, {}, &LogRecord::revision);
  for (const Waiting& write : queue)
    records.push_back(write.record());
  in_flight = queue.size();
  committing = true;
  // Renewed when half is used, so that relaxed writes rarely have to wait for a reservation.
  const bool low = next_revision + kRevisionBlock / 2 > reserved;
  const Revision reserve_through = low ? next_revision + kRevisionBlock : reserved;
  log->commit(std::move(records), reserve_through,
              [this, guard = std::weak_ptr<int>(alive), reserve_through,
               started = loop.now()](Result<void> outcome) {
                if (!guard.expired()) finish_commit(std::move(outcome), reserve_through, started);
              });
}

void Store::State::finish_commit(Result<void> outcome, Revision reserve_through, Time started) {
  committing = false;
  const double seconds = std::max(0.0, std::chrono::duration<double>(loop.now() - started).count());
  counts.commit_seconds_sum += seconds;
  for (size_t bucket = 0; bucket < kCommitSeconds.size(); ++bucket) {
    if (seconds <= kCommitSeconds[bucket]) ++commit_buckets[bucket];
  }
  ++counts.commits;
  std::vector<Waiting> shown;
  if (outcome) {
    reserved = std::max(reserved, reserve_through);
    unsaved_in_flight.clear();
    shown.reserve(in_flight);
    for (; in_flight > 0; --in_flight) {
      shown.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  } else {
    ++counts.failed_batches;
    fail_batch(outcome.error());
  }
  show_relaxed_head(shown);
  show(std::move(shown));
  if (!queue.empty() || relaxed_due) schedule();
}

void Store::State::fail_batch(const Error& error) {
  std::set<Key> keys;
  for (size_t at = 0; at < in_flight; ++at)
    keys.insert(queue[at].key);
  in_flight = 0;
  // A later write to one of these keys was built on what has not happened.
  std::deque<Waiting> left;
  for (Waiting& write : queue) {
    if (!keys.contains(write.key)) {
      left.push_back(std::move(write));
      continue;
    }
    pending.erase(write.key);
    fail_later(error, std::move(write.done));
  }
  queue = std::move(left);
  // What was shown stays shown, and is tried again unless something newer is to be saved.
  for (auto& [key, record] : unsaved_in_flight) {
    const auto newer = unsaved.find(key);
    if (newer == unsaved.end()) {
      unsaved.emplace(key, std::move(record));
    } else {
      newer->second.supersedes = record.supersedes;
    }
  }
  unsaved_in_flight.clear();
}

void Store::State::show(std::vector<Waiting> writes) {
  for (Waiting& write : writes) {
    const auto newest_waiting = pending.find(write.key);
    if (newest_waiting != pending.end() && newest_waiting->second.first == write.revision) {
      pending.erase(newest_waiting);
    }
    Table& home = table(write.key.storage);
    publish(home, apply(home, write.key, write.object, write.last, write.revision));
  }
  bound_history();
  arm_compaction();
  cooler.consider();
  for (Waiting& write : writes) {
    write.done(Committed{write.revision, write.object ? write.object : write.last});
  }
}

StoreEventPtr Store::State::apply(Table& home, const Key& key, ObjectPtr object, ObjectPtr last,
                                  Revision at_revision) {
  const auto place = home.place(name_view(key), object != nullptr);
  check(place != home.objects().end(), "what is deleted is there");
  ObjectPtr previous = std::move(place->second);
  dependents.change(home, *place, previous.get(), object.get());
  if (previous) {
    --counts.objects;
    counts.object_bytes -= previous->memory();
    encoded_bytes -= previous->body_size();
    ++superseded;
    ++superseded_since_mark;
  }
  auto type = StoreEvent::Type::Deleted;
  if (object) {
    type = previous ? StoreEvent::Type::Modified : StoreEvent::Type::Added;
    ++counts.objects;
    counts.object_bytes += object->memory();
    encoded_bytes += object->body_size();
    Table::put(*place, object);
    last = std::move(object);
  } else {
    home.erase(place);
  }
  shown_revision = at_revision;
  auto event = std::make_shared<const StoreEvent>(
      StoreEvent{type, at_revision, std::move(last), std::move(previous)});
  home.remember(event, loop.now());
  return event;
}

void Store::State::bound_history() {
  if (superseded_since_mark < kRowsPerMark) return;
  superseded_since_mark = 0;
  marks.push_back(shown_revision);
  if (marks.size() <= kMostSupersededRows / kRowsPerMark) return;
  log->compact(marks.front());
  marks.pop_front();
}

// Rows that were already superseded when the timer began are old enough when it ends: no clock per
// revision.
void Store::State::arm_compaction() {
  if (superseded < kSupersededRows || compaction_timer != 0) return;
  superseded_at_timer = superseded;
  compaction_timer = loop.after(limits.history_age, while_alive([this, horizon = shown_revision] {
                                  compaction_timer = 0;
                                  superseded -= superseded_at_timer;
                                  log->compact(horizon);
                                }));
}

void Store::State::publish(const Table& home, const StoreEventPtr& event) {
  for (const std::string_view storage : {std::string_view(home.storage()), std::string_view()}) {
    const auto found = listeners.find(storage);
    if (found == listeners.end()) continue;
    // A listener may listen or forget meanwhile; a new one hears from the next event on.
    const size_t size = found->second.size();
    publishing = true;
    for (size_t at = 0; at < size; ++at) {
      const auto entry = found->second[at];
      if (!entry->forgotten) entry->call(event);
    }
    publishing = false;
    if (std::exchange(must_sweep, false)) sweep();
  }
}

void Store::State::sweep() {
  for (auto& [storage, entries] : listeners) {
    std::erase_if(entries, [](const auto& entry) { return entry->forgotten; });
  }
}

// Leaving in good order loses no acknowledged write; the log finishes its commits before it goes.
void Store::State::save_the_rest() {
  if (relaxed_timer != 0) loop.cancel(relaxed_timer);
  if (compaction_timer != 0) loop.cancel(compaction_timer);
  alive.reset();
  std::vector<LogRecord> records;
  for (const auto& [key, record] : unsaved)
    records.push_back(record);
  std::ranges::sort(records, {}, &LogRecord::revision);
  if (!records.empty()) log->commit(std::move(records), reserved, [](Result<void>) {});
  log.reset();
}

Store::Store(Loop& loop, std::unique_ptr<Log> log, StoreLimits limits)
    : state_(std::make_unique<State>(loop, std::move(log), limits)) {}

Store::~Store() {
  state_->save_the_rest();
}

Result<void> Store::open() {
  State& state = *state_;
  const Replayed known =
      TRY(state.log->replay([&state](LogRecord record) { state.replay(std::move(record)); }));
  state.compacted = known.compacted;
  for (auto& [storage, table] : state.tables)
    table.forget_through(known.compacted);
  // Revisions go on above all that may have been seen, saved or not.
  state.reserved = known.reserved;
  state.shown_revision = std::max({state.shown_revision, known.reserved, Revision{1}});
  state.next_revision = state.shown_revision + 1;
  state.arm_compaction();
  state.cooler.consider();
  return {};
}

Revision Store::revision() const {
  return state_->shown_revision;
}

ObjectPtr Store::get(const Key& key) const {
  return state_->durable(key);
}

ObjectPtr Store::get_pending(const Key& key) const {
  return state_->newest(key);
}

ObjectPtr Store::write(Write write, Done done) {
  if (!done) done = [](Result<Committed>) {};
  const ObjectPtr current = state_->newest(write.key);
  if (auto error = state_->objection(write, current.get())) {
    state_->fail_later(*std::move(error), std::move(done));
    return nullptr;
  }
  return state_->accept(std::move(write), current, std::move(done));
}

void Store::when_durable(const Key& key, std::function<void(bool)> done) {
  const auto waiting = std::find_if(state_->queue.rbegin(), state_->queue.rend(),
                                    [&](const Waiting& write) { return write.key == key; });
  if (waiting == state_->queue.rend()) {
    state_->loop.post(state_->while_alive([done = std::move(done)] { done(true); }));
    return;
  }
  waiting->done = [first = std::move(waiting->done),
                   done = std::move(done)](Result<Committed> committed) {
    const bool durable = committed.has_value();
    first(std::move(committed));
    done(durable);
  };
}

void Store::write_all(std::vector<Write> writes,
                      std::function<void(std::vector<Result<Committed>>)> done) {
  if (writes.empty()) {
    state_->loop.post(state_->while_alive([done = std::move(done)] { done({}); }));
    return;
  }
  struct Gathered {
    std::vector<std::optional<Result<Committed>>> results;
    size_t missing;
    std::function<void(std::vector<Result<Committed>>)> done;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->results.resize(writes.size());
  gathered->missing = writes.size();
  gathered->done = std::move(done);
  for (size_t at = 0; at < writes.size(); ++at) {
    write(std::move(writes[at]), [gathered, at](Result<Committed> result) {
      gathered->results[at] = std::move(result);
      if (--gathered->missing > 0) return;
      std::vector<Result<Committed>> all;
      all.reserve(gathered->results.size());
      for (auto& one : gathered->results)
        all.push_back(*std::move(one));
      gathered->done(std::move(all));
    });
  }
}

Listing Store::list(std::string_view storage, const ListRange& range) const {
  const Table* table = state_->find_table(storage);
  if (table) return table->list(range, revision());
  Listing nothing;
  nothing.revision = revision();
  return nothing;
}

Result<Listing> Store::list_at(std::string_view storage, const ListRange& range,
                               Revision at_revision) const {
  if (at_revision > revision()) return error(Reason::Timeout, "");
  const Table* table = state_->find_table(storage);
  if (table) return table->list_at(range, at_revision);
  if (at_revision < state_->compacted) return error(Reason::Expired, "");
  Listing nothing;
  nothing.revision = at_revision;
  return nothing;
}

size_t Store::count(std::string_view storage) const {
  const Table* table = state_->find_table(storage);
  return table ? table->objects().size() : 0;
}

std::vector<std::string> Store::storages() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : state_->tables) {
    if (!table.objects().empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::pair<Key, ObjectPtr>> Store::dependents(std::string_view owner_uid) const {
  return state_->dependents.of(owner_uid);
}

Result<std::vector<StoreEventPtr>> Store::history(std::string_view storage, Revision since) const {
  const Table* table = state_->find_table(storage);
  if (table) return table->history(since);
  if (since < state_->compacted) return error(Reason::Expired, "");
  return std::vector<StoreEventPtr>();
}

Store::ListenerId Store::listen(std::string_view storage, Listener listener) {
  const ListenerId id = state_->next_listener++;
  state_->listeners[std::string(storage)].push_back(
      std::make_shared<ListenerEntry>(ListenerEntry{id, std::move(listener)}));
  return id;
}

void Store::forget(ListenerId listener) {
  for (auto& [storage, entries] : state_->listeners) {
    for (const auto& entry : entries)
      entry->forgotten |= entry->id == listener;
  }
  // During a publication the list must not move; it is swept after it.
  state_->must_sweep = state_->publishing;
  if (!state_->publishing) state_->sweep();
}

Store::Statistics Store::statistics() const {
  Statistics counts = state_->counts;
  counts.pending_writes = state_->queue.size();
  for (size_t bucket = 0; bucket < kCommitSeconds.size(); ++bucket) {
    counts.commit_seconds.emplace_back(kCommitSeconds[bucket], state_->commit_buckets[bucket]);
  }
  return counts;
}

}  // namespace yard
