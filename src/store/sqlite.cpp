#include "store/sqlite.h"

#include <cerrno>

#include <fmt/format.h>

namespace yard {
namespace {

// A full disk has more names than SQLITE_FULL: the index of the write-ahead log may find no room.
bool is_disk_full(sqlite3* database, int code) {
  if (code == SQLITE_FULL) return true;
  return code == SQLITE_IOERR && (sqlite3_system_errno(database) == ENOSPC ||
                                  sqlite3_extended_errcode(database) == SQLITE_IOERR_SHMSIZE);
}

}  // namespace

Error sqlite_failure(sqlite3* database, const std::string& path, std::string_view doing) {
  const int code = database ? sqlite3_errcode(database) & 0xff : SQLITE_NOMEM;
  const char* words = database ? sqlite3_errmsg(database) : "out of memory";
  if (is_disk_full(database, code)) {
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot {} {}: no space is left on its disk; free some", doing, path));
  }
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(
          Reason::InternalError,
          fmt::format(
              "cannot {} {}: the file is damaged ({}); move it away and put a copy in its place, "
              "or start with another data folder",
              doing, path, words));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return error(Reason::ServiceUnavailable,
                   fmt::format("cannot {} {}: {}; the file and its folder must be writable", doing,
                               path, words));
    default:
      return error(Reason::ServiceUnavailable, fmt::format("cannot {} {}: {}", doing, path, words));
  }
}

Result<Database> open_database(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return sqlite_failure(raw, path, "open");
  return database;
}

Result<void> execute(sqlite3* database, const std::string& path, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_failure(database, path, "prepare");
}

Result<Statement> Statement::prepare(sqlite3* database, std::string_view sql,
                                     const std::string& path) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return sqlite_failure(database, path, "read");
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

Statement& Statement::bind(int at, int64_t value) {
  sqlite3_bind_int64(statement_.get(), at, value);
  return *this;
}

Statement& Statement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.data() ? text.data() : "", text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), at, bytes.data() ? bytes.data() : "", bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_null(int at) {
  sqlite3_bind_null(statement_.get(), at);
  return *this;
}

int Statement::run() {
  int code = sqlite3_step(statement_.get());
  while (code == SQLITE_ROW)
    code = sqlite3_step(statement_.get());
  const int reset_code = sqlite3_reset(statement_.get());
  return code == SQLITE_DONE ? SQLITE_OK : reset_code;
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (!data || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

}  // namespace yard
