#include "store/backup.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "store/sqlite.h"
#include "store/sqlite_file.h"

namespace yard {
namespace {

// As etcd's own restore bumps revisions: more than any server writes after its last backup.
constexpr Revision kRevisionLeap = 1'000'000'000;
// What has been superseded or deleted is history; a backup has none.
constexpr const char* kCopyRows =
    "INSERT INTO main.log SELECT * FROM source.log WHERE idx IS NOT NULL AND rev NOT IN (SELECT "
    "supersedes FROM source.log) ORDER BY rev";
constexpr const char* kFilesTable = "backup_files";

Error failed(std::string_view doing, const std::string& path) {
  const int code = errno;
  return error(Reason::ServiceUnavailable,
               fmt::format("cannot {} {}: {}", doing, path, strerror(code)));
}

// Removed unless kept.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (!kept_) remove();
  }
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  void remove() const {
    for (const char* suffix : {"", "-journal", "-wal", "-shm", ".new"})
      unlink((path_ + suffix).c_str());
  }
  std::string path_;
  bool kept_ = false;
};

// FNV-1a over everything that is restored: a flipped bit in a body is no damage to SQLite.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes)
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    // The length too, or the end of one text could be the start of the next.
    for (size_t size = bytes.size(); size > 0; size >>= 8)
      value_ = (value_ ^ (size & 0xff)) * 1099511628211ULL;
  }
  int64_t value() const { return static_cast<int64_t>(value_); }

 private:
  uint64_t value_ = 14695981039346656037ULL;
};

struct Contents {
  size_t objects = 0;
  int64_t digest = 0;
};

Result<Contents> contents_of(sqlite3* database, const std::string& path) {
  Digest digest;
  Contents out;
  for (const char* sql :
       {"SELECT rev, storages.name, ns, log.name, idx, body FROM log JOIN storages ON "
        "storages.id=storage ORDER BY rev",
        "SELECT 0, name, content, '', '', '' FROM backup_files ORDER BY name"}) {
    Statement select = TRY(Statement::prepare(database, sql, path));
    int code;
    while ((code = select.step()) == SQLITE_ROW) {
      if (select.integer(0) != 0) ++out.objects;
      digest.add(std::to_string(select.integer(0)));
      for (int column = 1; column < 6; ++column)
        digest.add(select.bytes(column));
    }
    if (code != SQLITE_DONE) return sqlite_failure(database, path, "read");
  }
  out.digest = digest.value();
  return out;
}

Result<int64_t> fact_of(sqlite3* database, const std::string& path, std::string_view name) {
  Statement select =
      TRY(Statement::prepare(database, "SELECT value FROM facts WHERE name=?", path));
  const int code = select.bind_text(1, name).step();
  if (code == SQLITE_ROW) return select.integer(0);
  if (code != SQLITE_DONE) return sqlite_failure(database, path, "read");
  return error(Reason::NotFound, "");
}

Result<void> set_fact(sqlite3* database, const std::string& path, std::string_view name,
                      int64_t value) {
  Statement replace =
      TRY(Statement::prepare(database, "INSERT OR REPLACE INTO facts VALUES(?,?)", path));
  if (replace.bind_text(1, name).bind(2, value).run() == SQLITE_OK) return {};
  return sqlite_failure(database, path, "write to");
}

// A new store file under the draft's name with the objects of `source` and none of its history.
Result<Database> copy_objects(const std::string& source, const std::string& draft) {
  TRY(make_or_recognise_store_file(draft));
  Database database = TRY(open_database(draft, SQLITE_OPEN_READWRITE));
  TRY(execute(database.get(), draft, "PRAGMA busy_timeout=10000; PRAGMA synchronous=FULL"));
  {
    Statement attach = TRY(Statement::prepare(database.get(), "ATTACH ? AS source", draft));
    if (attach.bind_text(1, source).run() != SQLITE_OK)
      return sqlite_failure(database.get(), source, "read");
  }
  // One transaction sees one state of the source, whatever is written to it meanwhile.
  for (const char* sql :
       {"BEGIN", "INSERT INTO main.storages SELECT * FROM source.storages", kCopyRows,
        "INSERT OR REPLACE INTO main.facts SELECT name, value FROM source.facts WHERE "
        "name='reserved'",
        "COMMIT"}) {
    if (sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return sqlite_failure(database.get(), source, "copy");
  }
  TRY(execute(database.get(), source, "DETACH source"));
  return database;
}

Result<void> add_files(sqlite3* database, const std::string& path,
                       const std::vector<BackupFile>& files) {
  TRY(execute(
      database, path,
      fmt::format("CREATE TABLE {}(name TEXT PRIMARY KEY, content BLOB NOT NULL)", kFilesTable)
          .c_str()));
  Statement insert = TRY(
      Statement::prepare(database, fmt::format("INSERT INTO {} VALUES(?,?)", kFilesTable), path));
  for (const BackupFile& file : files) {
    if (insert.bind_text(1, file.name).bind_blob(2, file.content).run() != SQLITE_OK)
      return sqlite_failure(database, path, "write to");
  }
  return {};
}

Result<std::vector<BackupFile>> files_of(sqlite3* database, const std::string& path) {
  Statement select = TRY(Statement::prepare(
      database, fmt::format("SELECT name, content FROM {} ORDER BY name", kFilesTable), path));
  std::vector<BackupFile> out;
  int code;
  while ((code = select.step()) == SQLITE_ROW)
    out.push_back({std::string(select.bytes(0)), std::string(select.bytes(1))});
  if (code != SQLITE_DONE) return sqlite_failure(database, path, "read");
  return out;
}

Result<void> sync_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || fsync(file.get()) != 0) return failed("make durable", path);
  return {};
}

Error exists_already(const std::string& target) {
  return error(
      Reason::AlreadyExists,
      fmt::format("{} is there already; name another file, or replace it with --force", target));
}

Result<void> put_in_place(const std::string& draft, const std::string& target, bool replace) {
  TRY(sync_file(draft));
  const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, target.c_str(), flags) != 0) {
    if (errno == EEXIST) return exists_already(target);
    return failed("write", target);
  }
  return sync_folder_of(target);
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat left, right;
  return stat(a.c_str(), &left) == 0 && stat(b.c_str(), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

Error no_backup(const std::string& path, std::string_view why) {
  return error(Reason::BadRequest, fmt::format("{} {}; nothing was restored", path, why));
}

constexpr std::string_view kDamaged = "is damaged; use another copy of it";

Result<void> recognise_backup(const std::string& path) {
  using Is = StoreFileSort::Is;
  const StoreFileSort sort = TRY(store_file_sort(path));
  switch (sort.is) {
    case Is::Ours: return {};
    case Is::Empty: return no_backup(path, "is empty");
    case Is::NoDatabase: return no_backup(path, "is damaged or no backup of Trainyard");
    case Is::AnotherPrograms: return no_backup(path, "is the database of another program");
    case Is::Newer:
      return no_backup(path, fmt::format("was written by a newer Trainyard (format {}); use that "
                                         "version",
                                         sort.format));
    case Is::WithoutFormat: break;
  }
  return no_backup(path, kDamaged);
}

Result<void> check_pages(sqlite3* database, const std::string& path) {
  auto check = Statement::prepare(database, "PRAGMA integrity_check(1)", path);
  if (check && check->step() == SQLITE_ROW && check->bytes(0) == "ok") return {};
  return no_backup(path, kDamaged);
}

// What can be wrong with a file whose head is right.
Result<Restored> read_backup(const std::string& path) {
  TRY(recognise_backup(path));
  const Database database = TRY(open_database(path, SQLITE_OPEN_READONLY));
  TRY(check_pages(database.get(), path));
  const auto digest = fact_of(database.get(), path, "digest");
  if (!digest) {
    return no_backup(path,
                     "is the store of a server, not a backup; `trainyard backup FILE` makes one");
  }
  const auto contents = contents_of(database.get(), path);
  const auto reserved = fact_of(database.get(), path, "reserved");
  auto files = files_of(database.get(), path);
  if (!contents || !reserved || !files || contents->digest != *digest)
    return no_backup(path, kDamaged);
  return Restored{{contents->objects, static_cast<Revision>(*reserved)}, std::move(*files)};
}

}  // namespace

Result<BackupSummary> write_backup(const std::string& store, const std::string& target,
                                   const std::vector<BackupFile>& files, bool replace) {
  if (access(store.c_str(), F_OK) != 0)
    return error(Reason::NotFound, fmt::format("there is no store at {} to back up", store));
  if (is_same_file(store, target))
    return error(Reason::BadRequest, fmt::format("{} is the store itself", target));
  if (!replace && access(target.c_str(), F_OK) == 0) return exists_already(target);
  Draft draft(target + ".partial");
  BackupSummary summary;
  {
    const Database database = TRY(copy_objects(store, draft.path()));
    TRY(add_files(database.get(), draft.path(), files));
    const Contents contents = TRY(contents_of(database.get(), draft.path()));
    TRY(set_fact(database.get(), draft.path(), "digest", contents.digest));
    summary.objects = contents.objects;
    summary.revision =
        static_cast<Revision>(TRY(fact_of(database.get(), draft.path(), "reserved")));
  }
  TRY(put_in_place(draft.path(), target, replace));
  draft.keep();
  return summary;
}

Result<Restored> restore_backup(const std::string& backup, const std::string& draft_path,
                                Revision at_least) {
  Restored restored = TRY(read_backup(backup));
  Draft draft(draft_path);
  {
    const Database database = TRY(copy_objects(backup, draft.path()));
    const Revision next = std::max(at_least, restored.summary.revision + kRevisionLeap);
    for (const char* name : {"reserved", "compacted"})
      TRY(set_fact(database.get(), draft.path(), name, static_cast<int64_t>(next)));
  }
  TRY(sync_file(draft.path()));
  draft.keep();
  return restored;
}

}  // namespace yard
