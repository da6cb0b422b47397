#pragma once
// The few things the log needs of SQLite, as values. Only src/store/sqlite*.cpp include this.

#include <cstdint>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// What the last failure of `database` means for the people who run the server.
Error sqlite_failure(sqlite3* database, const std::string& path, std::string_view doing);

Result<Database> open_database(const std::string& path, int flags);
Result<void> execute(sqlite3* database, const std::string& path, const char* sql);

// A prepared statement that is used again and again. Texts and blobs are bound by reference: they
// must live until the next step.
class Statement {
 public:
  Statement() = default;
  static Result<Statement> prepare(sqlite3* database, std::string_view sql,
                                   const std::string& path);

  Statement& bind(int at, int64_t value);
  Statement& bind_text(int at, std::string_view text);
  Statement& bind_blob(int at, std::string_view bytes);
  Statement& bind_null(int at);
  int step() { return sqlite3_step(statement_.get()); }
  int run();  // one step to the end and a reset; SQLITE_OK or an error code
  void reset() { sqlite3_reset(statement_.get()); }

  int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  bool is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  std::string_view bytes(int column) const;  // of a text or a blob, until the next step

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

}  // namespace yard
