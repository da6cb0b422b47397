#pragma once
// A Log in memory that forgets what was not synced. The SimDisk outlives the SimLogs opened on it,
// as a disk outlives its server.

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "store/log.h"

namespace yard {

struct SimDisk {
  std::map<Revision, LogRecord> rows;
  Revision reserved = 0;
  Revision compacted = 0;
};

struct SimLogFaults {
  uint64_t failed_commits_percent = 0;
  Duration longest_commit = std::chrono::milliseconds(5);
};

class SimLog : public Log {
 public:
  SimLog(Loop& loop, std::shared_ptr<SimDisk> disk, uint64_t seed = 1, SimLogFaults faults = {})
      : state_(std::make_shared<State>(loop, std::move(disk), seed, faults)) {}

  // Leaving in good order saves what was given, as the real log does; after crash() it is too late.
  ~SimLog() override {
    if (state_->crashed) return;
    for (const Batch& batch : state_->batches) {
      if (!batch.is_durable) state_->save(batch);
    }
  }

  Result<Replayed> replay(const std::function<void(LogRecord)>& each) override {
    for (const auto& [revision, row] : state_->disk->rows) {
      LogRecord record = row;
      if (row.object) record.object = TRY(Object::restore(row.object->index(), row.object->body()));
      each(std::move(record));
    }
    Replayed replayed{state_->disk->reserved, state_->disk->compacted};
    if (!state_->disk->rows.empty()) {
      replayed.reserved = std::max(replayed.reserved, state_->disk->rows.rbegin()->first);
    }
    return replayed;
  }

  void commit(std::vector<LogRecord> records, Revision reserve_through,
              std::function<void(Result<void>)> done) override {
    if (state_->crashed) return;
    state_->batches.push_back({std::move(records), reserve_through, std::move(done)});
    if (state_->batches.size() == 1) state_->work(state_);
  }

  void compact(Revision horizon) override {
    SimDisk& disk = *state_->disk;
    std::vector<Revision> doomed;
    for (auto row = disk.rows.upper_bound(disk.compacted);
         row != disk.rows.end() && row->first <= horizon; ++row) {
      doomed.push_back(row->second.supersedes);
      if (!row->second.object) doomed.push_back(row->first);
    }
    for (const Revision revision : doomed)
      disk.rows.erase(revision);
    disk.compacted = std::max(disk.compacted, horizon);
  }

  // Power is lost: nothing more is acknowledged. Of the batches under way the seed says how many
  // reached the disk; each did wholly or not at all, and none before an earlier one.
  void crash() {
    state_->crashed = true;
    for (const Batch& batch : state_->batches) {
      if (batch.is_durable) continue;
      if (state_->random.below(2) == 0) break;
      state_->save(batch);
    }
    state_->batches.clear();
  }

  // The next `count` commits fail, whatever the seed says.
  void fail_next(int count) { state_->fail_next = count; }
  size_t under_way() const { return state_->batches.size(); }

 private:
  struct Batch {
    std::vector<LogRecord> records;
    Revision reserve_through;
    std::function<void(Result<void>)> done;
    bool is_durable = false;
  };

  struct State {
    State(Loop& the_loop, std::shared_ptr<SimDisk> the_disk, uint64_t seed, SimLogFaults the_faults)
        : loop(the_loop), disk(std::move(the_disk)), random(seed), faults(the_faults) {}

    Duration delay() {
      const auto longest = static_cast<uint64_t>(faults.longest_commit.count());
      return Duration(static_cast<int64_t>(random.below(longest + 1)));
    }

    void save(const Batch& batch) const {
      for (const LogRecord& record : batch.records) {
        check(disk->rows.emplace(record.revision, record).second, "no revision is written twice");
      }
      disk->reserved = std::max(disk->reserved, batch.reserve_through);
    }

    // Durable first and acknowledged some time later, so that a crash can fall between the two.
    void work(const std::shared_ptr<State>& self) {
      loop.after(delay(), [weak = std::weak_ptr<State>(self)] {
        const auto state = weak.lock();
        if (!state || state->crashed) return;
        const bool fails =
            state->fail_next > 0 || state->random.below(100) < state->faults.failed_commits_percent;
        if (state->fail_next > 0) --state->fail_next;
        if (!fails) state->save(state->batches.front());
        state->batches.front().is_durable = true;
        state->loop.after(state->delay() / 4, [weak, fails] {
          if (const auto still = weak.lock(); still && !still->crashed)
            still->acknowledge(still, fails);
        });
      });
    }

    void acknowledge(const std::shared_ptr<State>& self, bool fails) {
      const Batch batch = std::move(batches.front());
      batches.pop_front();
      if (!batches.empty()) work(self);
      batch.done(fails
                     ? Result<void>(error(Reason::ServiceUnavailable, "the simulated disk is full"))
                     : Result<void>());
    }

    Loop& loop;
    std::shared_ptr<SimDisk> disk;
    Random random;
    SimLogFaults faults;
    std::deque<Batch> batches;
    int fail_next = 0;
    bool crashed = false;
  };

  std::shared_ptr<State> state_;
};

}  // namespace yard
