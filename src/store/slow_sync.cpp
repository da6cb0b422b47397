#include "store/slow_sync.h"

#include <deque>
#include <mutex>
#include <sqlite3.h>
#include <thread>

namespace yard {
namespace {

// SQLite's way to the files, with one verb of each file replaced.
struct SlowMethods {
  sqlite3_io_methods methods;  // first: a file's pointer to its methods is one to this too
  const sqlite3_io_methods* real;
};

struct SlowFiles {
  sqlite3_vfs vfs;
  sqlite3_vfs* real = nullptr;
  Duration delay{};
  std::mutex mutex;
  std::deque<SlowMethods> methods;  // one for each sort of file there is
};

SlowFiles& slow_files() {
  static SlowFiles files;
  return files;
}

int slow_sync(sqlite3_file* file, int flags) {
  std::this_thread::sleep_for(slow_files().delay);
  return reinterpret_cast<const SlowMethods*>(file->pMethods)->real->xSync(file, flags);
}

const sqlite3_io_methods* slowed(const sqlite3_io_methods* real) {
  SlowFiles& files = slow_files();
  const std::lock_guard guard(files.mutex);
  for (const SlowMethods& known : files.methods) {
    if (known.real == real) return &known.methods;
  }
  files.methods.push_back({*real, real});
  files.methods.back().methods.xSync = slow_sync;
  return &files.methods.back().methods;
}

int open_slowed(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  sqlite3_vfs* real = slow_files().real;
  const int code = real->xOpen(real, name, file, flags, out_flags);
  if (file->pMethods != nullptr) file->pMethods = slowed(file->pMethods);
  return code;
}

}  // namespace

void slow_down_syncs(Duration delay) {
  SlowFiles& files = slow_files();
  files.real = sqlite3_vfs_find(nullptr);
  files.delay = delay;
  files.vfs = *files.real;
  files.vfs.zName = "slow";
  files.vfs.xOpen = open_slowed;
  sqlite3_vfs_register(&files.vfs, 1);
}

}  // namespace yard
