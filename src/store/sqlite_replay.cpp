#include "store/sqlite_replay.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/sqlite.h"

namespace yard {
namespace {

// Each page is read once: there is nothing to keep.
constexpr const char* kPragmas = "PRAGMA query_only=1; PRAGMA cache_size=-256";
// Revisions a piece, at least; a log that is no longer is not worth a thread.
constexpr Revision kSmallestPiece = 1000;
constexpr Revision kMostPieces = 256;
constexpr size_t kMostAhead = 8;

// A connection of its own that makes objects of rows. One thread at a time.
class RowReader {
 public:
  static Result<RowReader> open(const std::string& path, const StorageNames& storages) {
    RowReader reader(path, storages);
    reader.database_ = TRY(open_database(path, SQLITE_OPEN_READWRITE));
    TRY(execute(reader.database_.get(), path, kPragmas));
    reader.rows_ = TRY(Statement::prepare(reader.database_.get(),
                                          "SELECT rev, supersedes, storage, ns, name, idx, body "
                                          "FROM log WHERE rev BETWEEN ? AND ? ORDER BY rev",
                                          path));
    return reader;
  }

  // Takes those from the first to the last revision, both included, in their order.
  Result<void> read(Revision first, Revision last, const std::function<void(LogRecord)>& take) {
    rows_.bind(1, static_cast<int64_t>(first)).bind(2, static_cast<int64_t>(last));
    int code;
    while ((code = rows_.step()) == SQLITE_ROW)
      take(TRY(record()));
    rows_.reset();
    if (code != SQLITE_DONE) return sqlite_failure(database_.get(), path_, "read");
    return {};
  }

  struct Span {
    Revision first = 0, last = 0;
  };
  Result<Span> span() {
    Statement ends = TRY(Statement::prepare(
        database_.get(), "SELECT (SELECT min(rev) FROM log), (SELECT max(rev) FROM log)", path_));
    if (ends.step() != SQLITE_ROW) return sqlite_failure(database_.get(), path_, "read");
    if (ends.integer(0) < 0) {
      return error(Reason::InternalError,
                   fmt::format("{} is damaged: it has revisions below 0; move it away and put a "
                               "copy in its place",
                               path_));
    }
    return Span{static_cast<Revision>(ends.integer(0)), static_cast<Revision>(ends.integer(1))};
  }

 private:
  RowReader(const std::string& path, const StorageNames& storages)
      : path_(path), storages_(storages) {}

  Result<LogRecord> record() const {
    LogRecord record;
    record.revision = static_cast<Revision>(rows_.integer(0));
    record.supersedes = static_cast<Revision>(rows_.integer(1));
    const auto damaged = [&](std::string_view why) {
      return error(
          Reason::InternalError,
          fmt::format("{} is damaged at revision {}: {}; move it away and put a copy in its place",
                      path_, record.revision, why));
    };
    const auto storage = storages_.find(rows_.integer(2));
    if (storage == storages_.end()) return damaged("it is of no known storage");
    record.storage = storage->second;
    record.ns = rows_.bytes(3);
    record.name = rows_.bytes(4);
    if (rows_.is_null(5)) return record;
    auto object = Object::restore(rows_.bytes(5), rows_.bytes(6));
    if (!object) return damaged(object.error().message);
    if ((*object)->revision() != record.revision || (*object)->name() != record.name ||
        (*object)->ns() != record.ns) {
      return damaged("its object is another one");
    }
    record.object = std::move(*object);
    return record;
  }

  const std::string& path_;
  const StorageNames& storages_;
  Database database_;
  Statement rows_;  // after the database: it goes first
};

// The log cut into pieces of as many revisions, which both threads read, each the next that nobody
// has, and one hands on in their order. They go no further ahead of that than a few.
class Pieces {
 public:
  explicit Pieces(RowReader::Span span)
      : span_(span),
        revisions_(std::max(kSmallestPiece, (span.last - span.first) / kMostPieces + 1)),
        pieces_((span.last - span.first) / revisions_ + 1) {}

  // Reads pieces until there are none left, or one of the two has failed.
  void read_until_done(RowReader& reader) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over() || may_read(); });
      if (is_over()) return;
      read_next(reader, lock);
    }
  }

  // Reads as well, and calls `each` for every row.
  Result<void> read_and_tell(RowReader& reader, const std::function<void(LogRecord)>& each) {
    std::unique_lock lock(mutex_);
    while (!failure_ && told_ < pieces_.size()) {
      if (pieces_[told_].is_read) {
        std::vector<LogRecord> rows = std::move(pieces_[told_].rows);
        lock.unlock();
        for (LogRecord& record : rows)
          each(std::move(record));
        lock.lock();
        ++told_;
        changed_.notify_all();
      } else if (may_read()) {
        read_next(reader, lock);
      } else {
        changed_.wait(lock);
      }
    }
    if (failure_) return *failure_;
    return {};
  }

 private:
  struct Piece {
    std::vector<LogRecord> rows;
    bool is_read = false;
  };

  bool is_over() const { return failure_ || next_ == pieces_.size(); }
  bool may_read() const { return next_ < std::min(pieces_.size(), told_ + kMostAhead); }

  void read_next(RowReader& reader, std::unique_lock<std::mutex>& lock) {
    const size_t piece = next_++;
    const Revision first = span_.first + piece * revisions_;
    const Revision last = std::min(first + revisions_ - 1, span_.last);
    lock.unlock();
    std::vector<LogRecord> rows;
    const auto read =
        reader.read(first, last, [&rows](LogRecord record) { rows.push_back(std::move(record)); });
    lock.lock();
    if (!read && !failure_) failure_ = read.error();
    pieces_[piece] = {std::move(rows), true};
    changed_.notify_all();
  }

  const RowReader::Span span_;
  const Revision revisions_;  // a piece
  std::mutex mutex_;          // guards what follows
  std::condition_variable changed_;
  std::vector<Piece> pieces_;
  size_t next_ = 0, told_ = 0;  // to be read, to be handed on
  std::optional<Error> failure_;
};

}  // namespace

Result<Revision> replay_rows(const std::string& path, const StorageNames& storages,
                             const std::function<void(LogRecord)>& each) {
  RowReader reader = TRY(RowReader::open(path, storages));
  const RowReader::Span span = TRY(reader.span());
  if (span.last - span.first < kSmallestPiece) {
    TRY(reader.read(span.first, span.last, each));
    return span.last;
  }
  RowReader second = TRY(RowReader::open(path, storages));
  Pieces pieces(span);
  std::thread helper([&] { pieces.read_until_done(second); });
  const auto told = pieces.read_and_tell(reader, each);
  helper.join();
  TRY(told);
  return span.last;
}

}  // namespace yard
