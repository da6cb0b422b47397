#include "store/sqlite_replay.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/sqlite.h"

namespace yard {
namespace {

// Revisions a piece, at least; a log that is no longer is not worth a thread.
constexpr Revision kSmallestPiece = 1000;
constexpr Revision kMostPieces = 256;

// A connection of its own that makes objects of rows. One thread at a time.
class RowReader {
 public:
  static Result<RowReader> open(const std::string& path, const StorageNames& storages) {
    RowReader reader(path, storages);
    reader.database_ = TRY(open_database(path, SQLITE_OPEN_READWRITE));
    TRY(execute(reader.database_.get(), path, "PRAGMA query_only=1"));
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

// The log cut into pieces of as many revisions. One takes them from the front and hands the rows
// on at once; a helper takes them from the back and keeps its rows, until the two meet. So neither
// waits for the other, however the rows lie.
class Pieces {
 public:
  explicit Pieces(RowReader::Span span)
      : span_(span),
        revisions_(std::max(kSmallestPiece, (span.last - span.first) / kMostPieces + 1)),
        rows_((span.last - span.first) / revisions_ + 1),
        end_(rows_.size()) {}

  std::optional<size_t> take_from_front() {
    const std::lock_guard guard(mutex_);
    return next_ < end_ ? std::optional(next_++) : std::nullopt;
  }
  std::optional<size_t> take_from_back() {
    const std::lock_guard guard(mutex_);
    return next_ < end_ ? std::optional(--end_) : std::nullopt;
  }
  void stop() {
    const std::lock_guard guard(mutex_);
    end_ = next_;
  }

  RowReader::Span at(size_t piece) const {
    const Revision first = span_.first + piece * revisions_;
    return {first, std::min(first + revisions_ - 1, span_.last)};
  }
  // Of a piece that was taken: its taker's alone, until that one has ended.
  std::vector<LogRecord>& rows(size_t piece) { return rows_[piece]; }
  size_t size() const { return rows_.size(); }

 private:
  const RowReader::Span span_;
  const Revision revisions_;  // a piece
  std::vector<std::vector<LogRecord>> rows_;
  std::mutex mutex_;  // guards what follows
  size_t next_ = 0, end_;
};

Result<void> read_from_back(RowReader& reader, Pieces& pieces) {
  while (const auto piece = pieces.take_from_back()) {
    const auto [first, last] = pieces.at(*piece);
    TRY(reader.read(first, last, [&rows = pieces.rows(*piece)](LogRecord record) {
      rows.push_back(std::move(record));
    }));
  }
  return {};
}

Result<void> read_from_front(RowReader& reader, Pieces& pieces,
                             const std::function<void(LogRecord)>& each) {
  while (const auto piece = pieces.take_from_front()) {
    const auto [first, last] = pieces.at(*piece);
    TRY(reader.read(first, last, each));
  }
  return {};
}

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
  Result<void> back;
  std::thread helper([&] {
    back = read_from_back(second, pieces);
    if (!back) pieces.stop();
  });
  const Result<void> front = read_from_front(reader, pieces, each);
  pieces.stop();
  helper.join();
  TRY(front);
  TRY(back);
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    for (LogRecord& record : pieces.rows(piece))
      each(std::move(record));
    pieces.rows(piece) = {};
  }
  return span.last;
}

}  // namespace yard
