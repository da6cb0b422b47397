#include "store/sqlite_log.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "store/sqlite.h"
#include "store/sqlite_file.h"
#include "store/sqlite_replay.h"
#include "store/wal_damage.h"

namespace yard {
namespace {

// Measured (spec/api-facts.md 8): fewer pages cost more checkpoints, more only a longer file.
constexpr int kCheckpointPages = 4000;
constexpr int kRowsPerStep = 200;
// Under steady load a compaction still makes a step after this many rows: it visits two for every
// one that is written, and so comes to its end.
constexpr size_t kWrittenPerStep = 100;
// Free pages are used again by the next writes; only a surplus is worth giving back.
constexpr int64_t kSparePages = 1000;

constexpr const char* kPragmas =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA "
    "temp_store=MEMORY;"
    "PRAGMA busy_timeout=10000";

struct Batch {
  std::vector<LogRecord> records;
  Revision reserve_through;
  std::function<void(Result<void>)> done;
};

struct Statements {
  Statement begin, commit, rollback, insert, insert_storage, set_fact, superseded, remove,
      free_pages, vacuum;
};

class SqliteLog : public Log {
 public:
  static Result<std::unique_ptr<Log>> open(const std::string& path, Loop& loop);
  ~SqliteLog() override;

  Result<Replayed> replay(const std::function<void(LogRecord)>& each) override;
  void commit(std::vector<LogRecord> records, Revision reserve_through,
              std::function<void(Result<void>)> done) override;
  void compact(Revision horizon) override;

 private:
  SqliteLog(std::string path, Loop& loop, FileLock lock)
      : path_(std::move(path)), loop_(loop), lock_(std::move(lock)) {}

  Result<void> prepare();
  Result<void> read_storages();
  Result<Revision> fact(std::string_view name);

  // The writer's thread.
  void write_until_stopped();
  Result<void> write_batch(const Batch& batch);
  Result<void> insert_records(const Batch& batch);
  Result<int64_t> storage_id(const std::string& name);
  Result<void> compact_step(Revision horizon);
  Result<bool> vacuum_step();  // false: there is no surplus
  void restart_wal();
  Result<void> ran(int code, const char* doing);
  void roll_back();

  // The checkpointer's thread.
  void checkpoint_until_stopped();

  const std::string path_;
  Loop& loop_;
  const FileLock lock_;  // outlives the connections

  // The writer's own once it runs.
  Database writer_;
  Statements sql_;
  std::map<std::string, int64_t, std::less<>> storage_ids_;
  Revision reserved_ = 0, compacted_ = 0;
  int wal_pages_ = 0;
  int checkpoint_at_ = kCheckpointPages;
  bool has_surplus_ = false;  // of free pages, as far as is known

  Database checkpointer_;  // the checkpointer's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable writer_wakes_, checkpointer_wakes_;
  std::deque<Batch> batches_;
  Revision horizon_ = 0;
  bool stopping_ = false;
  bool checkpoint_wanted_ = false, restart_wanted_ = false;

  std::thread writer_thread_, checkpointer_thread_;
};

Result<std::unique_ptr<Log>> SqliteLog::open(const std::string& path, Loop& loop) {
  FileLock lock = TRY(FileLock::take(path));
  TRY(make_or_recognise_store_file(path));
  TRY(refuse_spoiled_wal(path));
  std::unique_ptr<SqliteLog> log(new SqliteLog(path, loop, std::move(lock)));
  TRY(log->prepare());
  log->writer_thread_ = std::thread([raw = log.get()] { raw->write_until_stopped(); });
  log->checkpointer_thread_ = std::thread([raw = log.get()] { raw->checkpoint_until_stopped(); });
  return std::unique_ptr<Log>(std::move(log));
}

SqliteLog::~SqliteLog() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  writer_wakes_.notify_all();
  checkpointer_wakes_.notify_all();
  if (writer_thread_.joinable()) writer_thread_.join();
  if (checkpointer_thread_.joinable()) checkpointer_thread_.join();
}

Result<void> SqliteLog::prepare() {
  writer_ = TRY(open_database(path_, SQLITE_OPEN_READWRITE));
  TRY(execute(writer_.get(), path_, kPragmas));
  checkpointer_ = TRY(open_database(path_, SQLITE_OPEN_READWRITE));
  TRY(execute(checkpointer_.get(), path_, kPragmas));

  Statement mode = TRY(Statement::prepare(writer_.get(), "PRAGMA journal_mode", path_));
  if (mode.step() != SQLITE_ROW || mode.bytes(0) != "wal") {
    return error(
        Reason::ServiceUnavailable,
        fmt::format(
            "cannot open {}: its file system cannot share memory between connections; choose a "
            "data folder on a local disk",
            path_));
  }
  mode.reset();

  const auto statement = [this](std::string_view sql) {
    return Statement::prepare(writer_.get(), sql, path_);
  };
  sql_.begin = TRY(statement("BEGIN IMMEDIATE"));
  sql_.commit = TRY(statement("COMMIT"));
  sql_.rollback = TRY(statement("ROLLBACK"));
  sql_.insert = TRY(statement(
      "INSERT INTO log(rev, supersedes, storage, ns, name, idx, body) VALUES(?,?,?,?,?,?,?)"));
  sql_.insert_storage = TRY(statement("INSERT INTO storages(name) VALUES(?)"));
  sql_.set_fact = TRY(statement("UPDATE facts SET value=?2 WHERE name=?1"));
  sql_.superseded =
      TRY(statement("SELECT rev, supersedes, idx IS NULL FROM log WHERE rev > ? AND rev <= ? ORDER "
                    "BY rev LIMIT ?"));
  sql_.remove = TRY(statement("DELETE FROM log WHERE rev=?"));
  sql_.free_pages = TRY(statement("PRAGMA freelist_count"));
  sql_.vacuum = TRY(statement("PRAGMA incremental_vacuum(128)"));

  sqlite3_wal_hook(
      writer_.get(),
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<int*>(pages) = count;
        return SQLITE_OK;
      },
      &wal_pages_);
  TRY(read_storages());
  reserved_ = TRY(fact("reserved"));
  compacted_ = TRY(fact("compacted"));
  return {};
}

Result<void> SqliteLog::read_storages() {
  Statement select = TRY(Statement::prepare(writer_.get(), "SELECT id, name FROM storages", path_));
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    storage_ids_.emplace(select.bytes(1), select.integer(0));
  if (code != SQLITE_DONE) return sqlite_failure(writer_.get(), path_, "read");
  return {};
}

Result<Revision> SqliteLog::fact(std::string_view name) {
  Statement select =
      TRY(Statement::prepare(writer_.get(), "SELECT value FROM facts WHERE name=?", path_));
  const int code = select.bind_text(1, name).step();
  if (code == SQLITE_ROW) return static_cast<Revision>(select.integer(0));
  if (code != SQLITE_DONE) return sqlite_failure(writer_.get(), path_, "read");
  return error(Reason::InternalError,
               fmt::format("{} is damaged: it does not say what is {}", path_, name));
}

Result<Replayed> SqliteLog::replay(const std::function<void(LogRecord)>& each) {
  StorageNames names;
  for (const auto& [name, id] : storage_ids_)
    names.emplace(id, name);
  const Revision highest = TRY(replay_rows(path_, names, each));
  return Replayed{std::max(reserved_, highest), compacted_};
}

void SqliteLog::commit(std::vector<LogRecord> records, Revision reserve_through,
                       std::function<void(Result<void>)> done) {
  {
    const std::lock_guard guard(mutex_);
    batches_.push_back({std::move(records), reserve_through, std::move(done)});
  }
  writer_wakes_.notify_one();
}

void SqliteLog::compact(Revision horizon) {
  {
    const std::lock_guard guard(mutex_);
    horizon_ = std::max(horizon_, horizon);
  }
  writer_wakes_.notify_one();
}

void SqliteLog::write_until_stopped() {
  size_t written_since_step = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    writer_wakes_.wait(lock, [this] {
      return stopping_ || !batches_.empty() || restart_wanted_ || horizon_ > compacted_ ||
             has_surplus_;
    });
    const Revision horizon = horizon_;
    const bool may_step = batches_.empty() || written_since_step >= kWrittenPerStep;
    const bool compacts = may_step && horizon > compacted_;
    if (restart_wanted_) {
      restart_wanted_ = false;
      lock.unlock();
      restart_wal();
      lock.lock();
    } else if (compacts && !stopping_) {
      written_since_step = 0;
      lock.unlock();
      const auto stepped = compact_step(horizon);
      if (!stepped) log_warning("compaction stops for now: {}", stepped.error().message);
      lock.lock();
      // It is asked for again after more writes; a full disk is no reason to spin.
      if (!stepped) horizon_ = compacted_;
    } else if (may_step && has_surplus_ && !stopping_) {
      written_since_step = 0;
      lock.unlock();
      const auto more = vacuum_step();
      if (!more) log_warning("free pages stay in the file for now: {}", more.error().message);
      lock.lock();
      has_surplus_ = more && *more;
    } else if (!batches_.empty()) {
      written_since_step += batches_.front().records.size();
      Batch batch = std::move(batches_.front());
      batches_.pop_front();
      lock.unlock();
      auto outcome = write_batch(batch);
      loop_.post([done = std::move(batch.done), outcome = std::move(outcome)] { done(outcome); });
      lock.lock();
    } else if (stopping_) {
      return;
    }
    if (wal_pages_ >= checkpoint_at_ && !checkpoint_wanted_ && !restart_wanted_) {
      checkpoint_wanted_ = true;
      checkpointer_wakes_.notify_one();
    }
  }
}

// Copies the few pages written since the checkpoint; with none left the next commit starts the file
// anew. While somebody reads an old state (a backup) it cannot: then trying at every commit would
// cost and gain nothing.
void SqliteLog::restart_wal() {
  int pages = 0, copied = 0;
  sqlite3_wal_checkpoint_v2(writer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
  checkpoint_at_ = pages > copied ? pages + kCheckpointPages : kCheckpointPages;
  wal_pages_ = 0;
}

void SqliteLog::checkpoint_until_stopped() {
  std::unique_lock lock(mutex_);
  while (true) {
    checkpointer_wakes_.wait(lock, [this] { return stopping_ || checkpoint_wanted_; });
    if (stopping_) return;
    lock.unlock();
    sqlite3_wal_checkpoint_v2(checkpointer_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                              nullptr);
    lock.lock();
    checkpoint_wanted_ = false;
    restart_wanted_ = true;
    writer_wakes_.notify_one();
  }
}

Result<void> SqliteLog::ran(int code, const char* doing) {
  if (code == SQLITE_OK) return {};
  return sqlite_failure(writer_.get(), path_, doing);
}

void SqliteLog::roll_back() {
  // Some failures have rolled back by themselves.
  if (!sqlite3_get_autocommit(writer_.get())) sql_.rollback.run();
}

Result<void> SqliteLog::write_batch(const Batch& batch) {
  auto outcome = insert_records(batch);
  if (outcome) {
    reserved_ = std::max(reserved_, batch.reserve_through);
    return outcome;
  }
  roll_back();
  storage_ids_.clear();
  if (const auto known = read_storages(); !known) log_warning("{}", known.error().message);
  return outcome;
}

Result<void> SqliteLog::insert_records(const Batch& batch) {
  TRY(ran(sql_.begin.run(), "write to"));
  for (const LogRecord& record : batch.records) {
    const int64_t storage = TRY(storage_id(record.storage));
    const std::string index = record.object ? record.object->index() : std::string();
    sql_.insert.bind(1, static_cast<int64_t>(record.revision))
        .bind(2, static_cast<int64_t>(record.supersedes))
        .bind(3, storage)
        .bind_text(4, record.ns)
        .bind_text(5, record.name);
    if (record.object) {
      sql_.insert.bind_blob(6, index).bind_blob(7, record.object->body());
    } else {
      sql_.insert.bind_null(6).bind_null(7);
    }
    TRY(ran(sql_.insert.run(), "write to"));
  }
  if (batch.reserve_through > reserved_) {
    sql_.set_fact.bind_text(1, "reserved").bind(2, static_cast<int64_t>(batch.reserve_through));
    TRY(ran(sql_.set_fact.run(), "write to"));
  }
  return ran(sql_.commit.run(), "write to");
}

Result<int64_t> SqliteLog::storage_id(const std::string& name) {
  const auto found = storage_ids_.find(name);
  if (found != storage_ids_.end()) return found->second;
  TRY(ran(sql_.insert_storage.bind_text(1, name).run(), "write to"));
  const int64_t id = sqlite3_last_insert_rowid(writer_.get());
  storage_ids_.emplace(name, id);
  return id;
}

// Walks the rows above the last horizon; each names the row it superseded.
Result<void> SqliteLog::compact_step(Revision horizon) {
  const auto step = [&]() -> Result<Revision> {
    TRY(ran(sql_.begin.run(), "compact"));
    std::vector<int64_t> doomed;
    Revision through = compacted_;
    int rows = 0, code;
    sql_.superseded.bind(1, static_cast<int64_t>(compacted_))
        .bind(2, static_cast<int64_t>(horizon));
    sql_.superseded.bind(3, kRowsPerStep);
    while ((code = sql_.superseded.step()) == SQLITE_ROW) {
      ++rows;
      through = static_cast<Revision>(sql_.superseded.integer(0));
      if (sql_.superseded.integer(1) != 0) doomed.push_back(sql_.superseded.integer(1));
      if (sql_.superseded.integer(2) != 0) doomed.push_back(sql_.superseded.integer(0));
    }
    sql_.superseded.reset();
    if (code != SQLITE_DONE) return sqlite_failure(writer_.get(), path_, "compact");
    if (rows < kRowsPerStep) through = horizon;
    for (const int64_t revision : doomed)
      TRY(ran(sql_.remove.bind(1, revision).run(), "compact"));
    sql_.set_fact.bind_text(1, "compacted").bind(2, static_cast<int64_t>(through));
    TRY(ran(sql_.set_fact.run(), "compact"));
    TRY(ran(sql_.commit.run(), "compact"));
    return through;
  }();
  if (!step) {
    roll_back();
    return step.error();
  }
  compacted_ = *step;
  has_surplus_ = true;
  return {};
}

Result<bool> SqliteLog::vacuum_step() {
  const bool counted = sql_.free_pages.step() == SQLITE_ROW;
  const int64_t free_pages = counted ? sql_.free_pages.integer(0) : 0;
  sql_.free_pages.reset();
  if (free_pages < kSparePages) return false;
  TRY(ran(sql_.vacuum.run(), "compact"));
  return true;
}

}  // namespace

Result<std::unique_ptr<Log>> open_sqlite_log(const std::string& path, Loop& loop) {
  return SqliteLog::open(path, loop);
}

}  // namespace yard
