#pragma once
// SQLite's way to the files as a machine without power sees it: what was written and not synced may
// be lost, kept or torn in the middle when the power goes, and a write may come to an end half way.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <sqlite3.h>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace yard {

class LossyFiles {
 public:
  static LossyFiles& instance() {
    static LossyFiles files;
    return files;
  }

  // From now on every database of this process lies on such files, until `end`.
  void begin(uint64_t seed) {
    const std::lock_guard guard(mutex_);
    random_ = Random(seed);
    unsynced_.clear();
    is_off_ = false;
    short_writes_percent_ = 0;
    deeds_left_ = kForever;
    sqlite3_vfs_register(&vfs_, 1);
  }
  void end() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  void fail_writes(uint64_t percent) {
    const std::lock_guard guard(mutex_);
    short_writes_percent_ = percent;
  }
  // The power goes after so many writes and syncs more: then nothing reaches a file any longer.
  // Close what is open, then `lose`.
  void cut_power_after(uint64_t deeds) {
    const std::lock_guard guard(mutex_);
    deeds_left_ = deeds;
    is_off_ = deeds == 0;
  }
  // What each file holds when the power is back, given what it holds now: each write since the last
  // sync with a chance of its own, since a disk keeps no order between two syncs.
  void lose(const std::function<std::string(const std::string&)>& read,
            const std::function<void(const std::string&, const std::string&)>& write) {
    const std::lock_guard guard(mutex_);
    for (const auto& [path, writes] : unsynced_)
      write(path, after_loss(read(path), writes));
    deeds_left_ = kForever;
    unsynced_.clear();
    is_off_ = false;
  }
  size_t lost() const { return lost_; }
  size_t torn() const { return torn_; }

 private:
  static constexpr size_t kSector = 512;
  static constexpr uint64_t kForever = ~uint64_t{0};

  struct Write {
    size_t at = 0, size = 0;
    std::string before;      // what stood there, as far as there was anything
    size_t size_before = 0;  // of the file
  };
  struct Methods {
    sqlite3_io_methods methods;  // first: a file's pointer to its methods is one to this too
    const sqlite3_io_methods* real;
  };

  LossyFiles() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_), random_(1) {
    vfs_.zName = "lossy";
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
  }

  // From the last write to the first: what an earlier one put where a later one has reached the
  // disk is no matter any more.
  std::string after_loss(std::string bytes, const std::vector<Write>& writes) {
    std::vector<bool> is_settled(bytes.size(), false);
    size_t size = std::min(bytes.size(), writes.front().size_before);
    for (auto each = writes.rbegin(); each != writes.rend(); ++each) {
      const size_t kept = kept_of(each->size);
      for (size_t i = 0; i < each->size && each->at + i < bytes.size(); ++i) {
        const size_t at = each->at + i;
        if (is_settled[at]) continue;
        if (i < kept) {
          is_settled[at] = true;
        } else {
          bytes[at] = i < each->before.size() ? each->before[i] : '\0';
        }
      }
      if (kept > 0) size = std::max(size, std::min(bytes.size(), each->at + kept));
    }
    bytes.resize(size);
    return bytes;
  }

  // How much of a write had reached the disk: all, nothing, or some sectors.
  size_t kept_of(size_t size) {
    const uint64_t dice = random_.below(3);
    if (dice == 0) return size;
    if (dice == 1 && size > kSector) {
      ++torn_;
      return kSector * random_.below(size / kSector + 1);
    }
    ++lost_;
    return 0;
  }

  // Whether the power is there for one deed more.
  bool has_power() {
    if (!is_off_ && deeds_left_ != kForever && deeds_left_-- == 0) is_off_ = true;
    return !is_off_;
  }

  static const sqlite3_io_methods& real_of(sqlite3_file* file) {
    return *reinterpret_cast<const Methods*>(file->pMethods)->real;
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    LossyFiles& self = instance();
    const int code = self.real_->xOpen(self.real_, name, file, flags, out);
    if (file->pMethods == nullptr || name == nullptr) return code;
    const std::lock_guard guard(self.mutex_);
    self.names_[file] = name;
    for (const Methods& known : self.methods_) {
      if (known.real != file->pMethods) continue;
      file->pMethods = &known.methods;
      return code;
    }
    self.methods_.push_back({*file->pMethods, file->pMethods});
    sqlite3_io_methods& ours = self.methods_.back().methods;
    ours.xWrite = write;
    ours.xSync = sync;
    ours.xTruncate = truncate;
    ours.iVersion = std::min(ours.iVersion, 2);  // no pages read past us by mmap
    file->pMethods = &ours;
    return code;
  }

  void note(sqlite3_file* file, size_t at, size_t size) {
    Write made{at, size, "", 0};
    sqlite3_int64 there = 0;
    real_of(file).xFileSize(file, &there);
    made.size_before = static_cast<size_t>(there);
    if (at < made.size_before) {
      made.before.resize(std::min(size, made.size_before - at));
      real_of(file).xRead(file, made.before.data(), static_cast<int>(made.before.size()),
                          static_cast<sqlite3_int64>(at));
    }
    unsynced_[names_[file]].push_back(std::move(made));
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    LossyFiles& self = instance();
    const std::lock_guard guard(self.mutex_);
    if (!self.has_power()) return SQLITE_IOERR_WRITE;
    self.note(file, static_cast<size_t>(at), static_cast<size_t>(size));
    if (self.random_.below(100) < self.short_writes_percent_) {
      real_of(file).xWrite(file, bytes, size / 2, at);
      return SQLITE_FULL;
    }
    return real_of(file).xWrite(file, bytes, size, at);
  }

  static int sync(sqlite3_file* file, int flags) {
    LossyFiles& self = instance();
    const std::lock_guard guard(self.mutex_);
    if (!self.has_power()) return SQLITE_IOERR_FSYNC;
    const int code = real_of(file).xSync(file, flags);
    if (code == SQLITE_OK) self.unsynced_.erase(self.names_[file]);
    return code;
  }

  static int remove(sqlite3_vfs*, const char* name, int sync_folder) {
    LossyFiles& self = instance();
    const std::lock_guard guard(self.mutex_);
    if (self.is_off_) return SQLITE_IOERR_DELETE;
    self.unsynced_.erase(name);
    return self.real_->xDelete(self.real_, name, sync_folder);
  }

  // Shortening counts as done at once: SQLite trusts no file to be short.
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    LossyFiles& self = instance();
    const std::lock_guard guard(self.mutex_);
    return self.is_off_ ? SQLITE_IOERR_TRUNCATE : real_of(file).xTruncate(file, size);
  }

  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;
  std::mutex mutex_;
  std::deque<Methods> methods_;
  std::map<sqlite3_file*, std::string> names_;
  std::map<std::string, std::vector<Write>> unsynced_;
  Random random_;
  bool is_off_ = false;
  uint64_t deeds_left_ = kForever;
  uint64_t short_writes_percent_ = 0;
  size_t lost_ = 0, torn_ = 0;
};

}  // namespace yard
