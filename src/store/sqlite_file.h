#pragma once
// Telling our file from others before SQLite touches it, and making a new one. Part of the log.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace yard {

// An exclusive lock on `<path>.lock`, given up when destroyed or when the process ends, however it
// ends.
class FileLock {
 public:
  static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// What the head of a file says it is.
struct StoreFileSort {
  enum class Is { Ours, Empty, NoDatabase, AnotherPrograms, Newer, WithoutFormat };
  Is is = Is::Ours;
  uint32_t format = 0;
};
Result<StoreFileSort> store_file_sort(const std::string& path);

// Makes the file when there is none: whole or not at all. Refuses what is not ours or too new,
// unchanged.
Result<void> make_or_recognise_store_file(const std::string& path);

// What was made or renamed in the folder of `path` outlives a loss of power.
Result<void> sync_folder_of(const std::string& path);

}  // namespace yard
