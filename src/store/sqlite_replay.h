#pragma once
// Reads the rows of the log back at a start. Nearly all of the time goes into making objects of
// them, so two threads share that. Part of the store.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/log.h"

namespace yard {

using StorageNames = std::map<int64_t, std::string_view>;  // by their number in the file

// Calls `each` on this thread for every row in revision order, and answers with the highest
// revision, 0 without rows. Nobody may write to the file meanwhile.
Result<Revision> replay_rows(const std::string& path, const StorageNames& storages,
                             const std::function<void(LogRecord)>& each);

}  // namespace yard
