#pragma once
#include <memory>
#include <string>

#include "base/loop.h"
#include "store/log.h"

namespace yard {

// A Log in one SQLite file (WAL, synchronous=FULL), written by a thread of its own. A foreign,
// damaged or newer file, or one another server holds, is refused with a sentence that says what to
// do; it is never overwritten.
Result<std::unique_ptr<Log>> open_sqlite_log(const std::string& path, Loop& loop);

}  // namespace yard
