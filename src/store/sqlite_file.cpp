#include "store/sqlite_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "store/sqlite.h"

namespace yard {
namespace {

constexpr uint32_t kApplicationId = 0x59617264;  // "Yard"
constexpr uint32_t kFormat = 1;

// In the first 100 bytes of an SQLite file, big-endian (https://www.sqlite.org/fileformat.html).
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderSize = 100, kUserVersionAt = 60, kApplicationIdAt = 68;

Error system_failure(std::string_view doing, const std::string& path) {
  const int code = errno;
  return error(Reason::ServiceUnavailable,
               fmt::format("cannot {} {}: {}", doing, path, strerror(code)));
}

Error refused(const std::string& path, std::string_view why) {
  return error(Reason::InternalError, fmt::format("{} {}; it was left as it is", path, why));
}

uint32_t big_endian(const std::array<unsigned char, kHeaderSize>& header, size_t at) {
  return uint32_t{header[at]} << 24 | uint32_t{header[at + 1]} << 16 |
         uint32_t{header[at + 2]} << 8 | header[at + 3];
}

Result<StoreFileSort> sort_of(int descriptor, const std::string& path) {
  using Is = StoreFileSort::Is;
  std::array<unsigned char, kHeaderSize> header{};
  const ssize_t size = pread(descriptor, header.data(), header.size(), 0);
  if (size < 0) return system_failure("read", path);
  if (size == 0) return StoreFileSort{Is::Empty};
  const bool is_sqlite = size == static_cast<ssize_t>(header.size()) &&
                         std::memcmp(header.data(), kMagic.data(), kMagic.size()) == 0;
  if (!is_sqlite) return StoreFileSort{Is::NoDatabase};
  if (big_endian(header, kApplicationIdAt) != kApplicationId)
    return StoreFileSort{Is::AnotherPrograms};
  const uint32_t format = big_endian(header, kUserVersionAt);
  if (format > kFormat) return StoreFileSort{Is::Newer, format};
  return StoreFileSort{format == 0 ? Is::WithoutFormat : Is::Ours, format};
}

Result<void> recognise(int descriptor, const std::string& path) {
  using Is = StoreFileSort::Is;
  const StoreFileSort sort = TRY(sort_of(descriptor, path));
  switch (sort.is) {
    case Is::Ours: return {};
    case Is::Empty: return refused(path, "is empty, not a store; remove it to start a new one");
    case Is::NoDatabase:
      return refused(
          path, "is damaged or no store of Trainyard; choose another data folder or move it away");
    case Is::AnotherPrograms:
      return refused(
          path, "is the database of another program; choose another data folder or move it away");
    case Is::Newer:
      return refused(
          path,
          fmt::format(
              "was written by a newer Trainyard (format {}, this one knows {}); use that version",
              sort.format, kFormat));
    case Is::WithoutFormat: break;
  }
  return refused(path, "is damaged: it names no format; put a copy in its place");
}

// Written under another name in rollback mode and renamed when it is whole: the header of a file
// that exists is always in its first page, never only in the write-ahead log.
Result<void> make_new(const std::string& path) {
  const std::string draft = path + ".new";
  unlink(draft.c_str());
  unlink((draft + "-journal").c_str());
  const Descriptor made(open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made.get() < 0) return system_failure("make", draft);
  // A log beside a file that is gone belongs to that file; SQLite would replay it into the new one.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (access((path + suffix).c_str(), F_OK) != 0) continue;
    return refused(path + suffix, "has lost its store file; put that back or move this away");
  }
  const std::string schema = fmt::format(
      "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA synchronous=FULL; BEGIN;"
      "PRAGMA application_id={}; PRAGMA user_version={};"
      "CREATE TABLE storages(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
      "CREATE TABLE log(rev INTEGER PRIMARY KEY, supersedes INTEGER NOT NULL, storage INTEGER NOT "
      "NULL,"
      " ns TEXT NOT NULL, name TEXT NOT NULL, idx BLOB, body BLOB);"
      "CREATE TABLE facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
      "INSERT INTO facts VALUES('reserved', 0), ('compacted', 0);"
      "COMMIT;",
      kApplicationId, kFormat);
  {
    const Database database = TRY(open_database(draft, SQLITE_OPEN_READWRITE));
    TRY(execute(database.get(), draft, schema.c_str()));
  }
  if (rename(draft.c_str(), path.c_str()) != 0) return system_failure("make", path);
  return sync_folder_of(path);
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  const std::string lock_path = path + ".lock";
  const int descriptor = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return system_failure("open the store: cannot make", lock_path);
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return system_failure("lock", lock_path);
  return error(
      Reason::ServiceUnavailable,
      fmt::format("{} is in use by another server; stop it or choose another data folder", path));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || fsync(directory.get()) != 0)
    return system_failure("make durable", folder);
  return {};
}

Result<StoreFileSort> store_file_sort(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_failure("read", path);
  return sort_of(file.get(), path);
}

Result<void> make_or_recognise_store_file(const std::string& path) {
  const Descriptor existing(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (existing.get() >= 0) return recognise(existing.get(), path);
  if (errno != ENOENT) return system_failure("open", path);
  return make_new(path);
}

}  // namespace yard
