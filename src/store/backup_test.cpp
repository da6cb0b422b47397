#include "store/backup.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <thread>

#include "store/sqlite_log_testing.h"
#include "store/store.h"

namespace yard {
namespace {

class BackupTest : public SqliteLogTest {
 protected:
  void SetUp() override {
    SqliteLogTest::SetUp();
    file_ = folder_ + "/backup.yard";
    ASSERT_EQ(open(), "");
  }
  std::string back_up(bool replace = false) {
    const auto written = write_backup(path_, file_, {{"ca.key", "secret\n"}}, replace);
    if (!written) return written.error().message;
    return fmt::format("{} objects through {}", written->objects, written->revision);
  }
  // Into the place of the store, as a start does.
  std::string restore(Revision at_least = 0) {
    log_.reset();
    const std::string draft = folder_ + "/restored.db";
    const auto restored = restore_backup(file_, draft, at_least);
    if (!restored) return restored.error().message;
    for (const char* suffix : {"", "-wal", "-shm"})
      fs::remove(path_ + suffix);
    fs::rename(draft, path_);
    std::string files;
    for (const BackupFile& file : restored->files)
      files += file.name + "=" + file.content;
    return files + reopen_and_replay();
  }
  std::string file_;
};

TEST_F(BackupTest, HasWhatIsThereAndNoneOfItsHistory) {
  ASSERT_EQ(commit({record(2, "a"), record(3, "b"), record(4, "c")}, 1000), "");
  ASSERT_EQ(commit({record(5, "a", 2), deletion(6, "b", 3)}, 1000), "");
  EXPECT_EQ(back_up(), "2 objects through 1000");  // while the log is open
  ASSERT_EQ(commit({record(7, "d")}), "");
  EXPECT_EQ(restore(), "ca.key=secret\n4:c 5:a reserved 1000001000 compacted 1000001000");
}

TEST_F(BackupTest, IsMadeOfAStoreWithoutAServerToo) {
  ASSERT_EQ(commit({record(2, "a")}, 1000), "");
  log_.reset();
  EXPECT_EQ(back_up(), "1 objects through 1000");
}

TEST_F(BackupTest, RevisionsLeapAboveAllThatMayHaveBeenSeen) {
  ASSERT_EQ(commit({record(2, "a")}, 1000), "");
  ASSERT_EQ(back_up(), "1 objects through 1000");
  EXPECT_EQ(restore(5'000'000'000), "ca.key=secret\n2:a reserved 5000000000 compacted 5000000000");
  Store store(loop_, std::move(log_));
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.revision(), 5'000'000'000u);
  const auto missed = store.history("configmaps", 900);
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().reason, Reason::Expired);
}

TEST_F(BackupTest, IsForItsOwnerAloneAndReplacesNothingUnasked) {
  ASSERT_EQ(commit({record(2, "a")}, 2), "");
  ASSERT_EQ(back_up(), "1 objects through 2");
  struct stat status {};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string before = file_bytes(file_);
  EXPECT_EQ(back_up(), file_ + " is there already; name another file, or replace it with --force");
  EXPECT_EQ(file_bytes(file_), before);
  ASSERT_EQ(commit({record(3, "b")}, 3), "");
  EXPECT_EQ(back_up(true), "2 objects through 3");
  EXPECT_FALSE(fs::exists(file_ + ".partial"));
  file_ = path_;
  EXPECT_EQ(back_up(true), path_ + " is the store itself");
}

TEST_F(BackupTest, RefusesWhatIsNoBackup) {
  ASSERT_EQ(commit({record(2, "a", 0, 50'000), record(3, "b", 0, 50'000)}, 3), "");
  ASSERT_EQ(back_up(), "2 objects through 3");
  log_.reset();
  const std::string whole = file_bytes(file_);
  std::string newer = whole, flipped = whole;
  newer[63] = 9;  // the last byte of user_version
  const size_t body = flipped.find("xxxxxxxxxxxxxxxx");
  ASSERT_NE(body, std::string::npos);
  flipped[body + 20] = 'y';
  struct Case {
    const char* about;
    std::string bytes;
    const char* sentence;
  };
  const Case cases[] = {
      {"a text", "Dear reader\n", "is damaged or no backup of Trainyard"},
      {"nothing", "", "is empty"},
      {"a newer one", newer, "was written by a newer Trainyard (format 9)"},
      {"half of one", whole.substr(0, whole.size() / 2), "is damaged"},
      {"a bit of a body flipped", flipped, "is damaged"},
      {"a server's own store", file_bytes(path_), "is the store of a server, not a backup"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.about);
    write_file(file_, one.bytes);
    const std::string draft = folder_ + "/restored.db";
    const auto restored = restore_backup(file_, draft, 0);
    ASSERT_FALSE(restored);
    EXPECT_NE(restored.error().message.find(one.sentence), std::string::npos)
        << restored.error().message;
    EXPECT_FALSE(fs::exists(draft));
    EXPECT_EQ(file_bytes(file_), one.bytes);
  }
}

// A snapshot of writes that always come in pairs never has one without the other.
TEST_F(BackupTest, IsOneMomentOfAStoreThatIsWrittenMeanwhile) {
  std::atomic<bool> stop = false;
  std::string problem;
  std::thread copier([&] {
    for (int at = 0; at < 10; ++at) {
      const std::string target = folder_ + "/copy-" + std::to_string(at);
      const auto written = write_backup(path_, target, {}, false);
      if (!written) problem = written.error().message;
      if (written && written->objects % 2 != 0) problem = "half a batch";
    }
    stop = true;
  });
  Revision next = 2;
  while (!stop && next < 4000) {
    const std::string name = "a" + std::to_string(next);
    ASSERT_EQ(commit({record(next, name), record(next + 1, name + "b")}), "");
    next += 2;
  }
  copier.join();
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace yard
