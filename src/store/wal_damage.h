#pragma once
// SQLite's write-ahead log ends, for SQLite, at the first frame that does not fit its checksum:
// right for a commit that the power cut in two, and silent loss where a disk spoils what had been
// acknowledged. The two can be told apart. A commit is synced before the next one is written, so
// only the last one can be in pieces: a whole commit that another one was written on top of, behind
// a frame that cannot be read, was acknowledged.
// What cannot be told is damage within the last commit of all.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

// Where the first part lies that cannot be read, when commits are lost behind it. `wal`: the bytes
// of a write-ahead log (https://www.sqlite.org/fileformat2.html#walformat).
std::optional<uint64_t> find_wal_damage(std::string_view wal);

// Refuses a store whose log (PATH-wal) is such a one. Before SQLite opens it.
Result<void> refuse_spoiled_wal(const std::string& path);

}  // namespace yard
