#pragma once
// A store as one file that can be carried elsewhere: every object as of one revision, and a few
// files that belong to it (keys, certificates). Blocks; for the command line and a server's start.

#include <string>
#include <vector>

#include "base/result.h"
#include "store/log.h"

namespace yard {

struct BackupFile {
  std::string name;
  std::string content;
};

struct BackupSummary {
  size_t objects = 0;
  Revision revision = 0;  // the highest that may have been given out
};

// Copies the store at `store`, whether a server uses it or not, without holding its writers up.
// `target` is made whole or not at all, for its owner only; one that is there is replaced only when
// `replace` is set.
Result<BackupSummary> write_backup(const std::string& store, const std::string& target,
                                   const std::vector<BackupFile>& files, bool replace);

struct Restored {
  BackupSummary summary;
  std::vector<BackupFile> files;
};

// Makes a store of the backup, under the name `draft`; the caller renames it when the rest is in
// place. Its revisions go on at `at_least`, or far above the backup's own: whoever saw later ones
// of the store that was lost is told that they have expired, and none is used twice. A foreign,
// damaged or newer file is refused with a sentence.
Result<Restored> restore_backup(const std::string& backup, const std::string& draft,
                                Revision at_least);

}  // namespace yard
