#pragma once
// The durable log: the store's only contact with the disk. One row a write; superseded rows are the
// history.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"

namespace yard {

struct LogRecord {
  Revision revision = 0;
  Revision supersedes = 0;  // the version of the key it takes the place of; 0: none
  std::string storage;      // "jobs.batch"
  std::string ns;
  std::string name;
  ObjectPtr object;  // null: deleted at this revision
};

struct Replayed {
  Revision reserved = 0;   // the highest ever reserved, so that none is used twice
  Revision compacted = 0;  // the highest horizon given to compact(): history is whole above it
};

class Log {
 public:
  virtual ~Log() = default;
  // Reads everything back in revision order, once, before the first commit.
  virtual Result<Replayed> replay(const std::function<void(LogRecord)>& each) = 0;
  // Makes the batch durable in order, all or nothing, then calls `done` on the loop. Batches are
  // committed in the order given; `records` stay valid until done. Revisions up to
  // `reserve_through` are reserved with it.
  virtual void commit(std::vector<LogRecord> records, Revision reserve_through,
                      std::function<void(Result<void>)> done) = 0;
  // Rows superseded at or below `horizon`, and deletions at or below it, may be dropped, in small
  // steps that never stop a commit for long.
  virtual void compact(Revision horizon) = 0;
};

}  // namespace yard
