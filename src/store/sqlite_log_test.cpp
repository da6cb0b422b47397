#include "store/sqlite_log.h"

#include <algorithm>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/sqlite_log_testing.h"
#include "store/store.h"

namespace yard {
namespace {

TEST_F(SqliteLogTest, GivesBackWhatWasCommitted) {
  ASSERT_EQ(open(), "");
  EXPECT_EQ(replay(), "reserved 0 compacted 0");
  EXPECT_EQ(commit({record(2, "a"), record(3, "b")}, 1000), "");
  EXPECT_EQ(commit({record(4, "a", 2), deletion(5, "b", 3)}, 1000), "");
  EXPECT_EQ(reopen_and_replay(), "2:a 3:b 4:a 5:-b reserved 1000 compacted 0");
  EXPECT_EQ(reopen_and_replay(), "2:a 3:b 4:a 5:-b reserved 1000 compacted 0");
}

TEST_F(SqliteLogTest, ObjectsComeBackWithAllTheirFacts) {
  ASSERT_EQ(open(), "");
  const LogRecord written = record(7, "a", 0, 100'000);
  ASSERT_EQ(commit({written}), "");
  log_.reset();
  ASSERT_EQ(open(), "");
  ObjectPtr read;
  ASSERT_TRUE(log_->replay([&](const LogRecord& one) { read = one.object; }));
  EXPECT_EQ(read->body(), written.object->body());
  EXPECT_EQ(read->index(), written.object->index());
}

TEST_F(SqliteLogTest, ItsFilesAreForTheOwnerAlone) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a")}), "");
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    struct stat status {};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(SqliteLogTest, RefusesAFileAnotherServerHolds) {
  ASSERT_EQ(open(), "");
  const auto second = open_sqlite_log(path_, loop_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("in use by another server"), std::string::npos);
}

TEST_F(SqliteLogTest, RefusesWhatIsNotItsOwnAndLeavesItAsItIs) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a")}), "");
  log_.reset();
  const std::string ours = file_bytes(path_);
  const auto sql = [this](const char* statements) {
    fs::remove(path_);
    sqlite3* database = nullptr;
    sqlite3_open(path_.c_str(), &database);
    sqlite3_exec(database, statements, nullptr, nullptr, nullptr);
    sqlite3_close(database);
    return file_bytes(path_);
  };
  std::string newer = ours;
  newer[63] = 9;  // the last byte of user_version
  std::string no_format = ours;
  no_format[63] = 0;
  struct Case {
    const char* about;
    std::string bytes;
    const char* sentence;
  };
  const Case cases[] = {
      {"text", "To whom it may concern\n", "no store of Trainyard"},
      {"an empty file", "", "is empty"},
      {"another program's database", sql("CREATE TABLE songs(title)"), "another program"},
      {"a newer format", newer, "newer Trainyard (format 9, this one knows 1)"},
      {"no format", no_format, "damaged"},
      {"a damaged header", std::string(100, '\0') + ours.substr(100), "damaged or no store"},
      {"a header cut short", ours.substr(0, 50), "damaged or no store"},
      {"a file cut after the header", ours.substr(0, 200), "damaged"},
      {"a damaged schema", ours.substr(0, 100) + std::string(3996, 'z') + ours.substr(4096),
       "damaged"},
  };
  for (const Case& c : cases) {
    write_file(path_, c.bytes);
    const std::string sentence = open();
    EXPECT_NE(sentence.find(c.sentence), std::string::npos) << c.about << ": " << sentence;
    EXPECT_EQ(file_bytes(path_), c.bytes) << c.about;
    log_.reset();
  }
  write_file(path_, ours);
  EXPECT_EQ(reopen_and_replay(), "2:a reserved 2 compacted 0");
}

// Long enough for two threads to read it.
TEST_F(SqliteLogTest, ALongLogComesBackInItsOrder) {
  ASSERT_EQ(open(), "");
  std::string expected;
  Revision revision = 1;
  for (int batch = 0; batch < 5; ++batch) {
    std::vector<LogRecord> records;
    for (int i = 0; i < 300; ++i) {
      // With gaps, as reservations and compactions leave them.
      revision += i == 150 ? 2500 : 1;
      const std::string name = fmt::format("n-{}", revision);
      records.push_back(i == 299 ? deletion(revision, name, revision - 1) : record(revision, name));
      expected += fmt::format("{}:{}{} ", revision, i == 299 ? "-" : "", name);
    }
    ASSERT_EQ(commit(std::move(records)), "");
  }
  expected += fmt::format("reserved {} compacted 0", revision);
  EXPECT_EQ(reopen_and_replay(), expected);
}

TEST_F(SqliteLogTest, DamageIsFoundInEveryPartOfALongLog) {
  ASSERT_EQ(open(), "");
  std::vector<LogRecord> records;
  for (Revision revision = 2; revision < 4000; ++revision)
    records.push_back(record(revision, fmt::format("n-{}", revision)));
  ASSERT_EQ(commit(std::move(records)), "");
  log_.reset();
  const auto sql = [this](const std::string& statement) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  };
  for (const int revision : {2, 1500, 3999}) {
    sql(fmt::format("UPDATE log SET body=x'7b7d' WHERE rev={}", revision));
    EXPECT_NE(reopen_and_replay().find(fmt::format("damaged at revision {}", revision)),
              std::string::npos);
    log_.reset();
    sql(fmt::format("DELETE FROM log WHERE rev={}", revision));
  }
  sql("INSERT INTO log VALUES(-1, 0, 1, 'default', 'a', NULL, NULL)");
  EXPECT_NE(reopen_and_replay().find("damaged"), std::string::npos);
}

TEST_F(SqliteLogTest, DamageInsideIsFoundWhenItIsRead) {
  ASSERT_EQ(open(), "");
  std::vector<LogRecord> records;
  for (Revision revision = 2; revision < 200; ++revision) {
    records.push_back(record(revision, fmt::format("n-{}", revision), 0, 3000));
  }
  ASSERT_EQ(commit(std::move(records)), "");
  log_.reset();
  const std::string whole = file_bytes(path_);
  const size_t pages = whole.size() / 4096;
  ASSERT_GT(pages, 50u);
  size_t found = 0;
  for (size_t page = 1; page < pages; page += 7) {
    std::string damaged = whole;
    for (size_t at = 0; at < 64; ++at)
      damaged[page * 4096 + 1000 + at] ^= 0x55;
    write_file(path_, damaged);
    const std::string answer = reopen_and_replay();
    found += answer.find("damaged") != std::string::npos;
    log_.reset();
  }
  // Only pages that hold no row (pointer maps, tails of overflow pages) may be hit without being
  // noticed.
  EXPECT_GT(found, pages / 7 / 2);
}

TEST_F(SqliteLogTest, ALogCutShortLosesNoEarlierCommit) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a")}, 100), "");
  const std::string first_wal = file_bytes(path_ + "-wal"), main = file_bytes(path_);
  ASSERT_EQ(commit({record(3, "b")}, 100), "");
  const std::string second_wal = file_bytes(path_ + "-wal");
  ASSERT_GT(second_wal.size(), first_wal.size());
  log_.reset();
  // As the disk looks after the power went in the middle of the second commit.
  for (size_t cut = first_wal.size(); cut < second_wal.size(); cut += 1111) {
    write_file(path_, main);
    write_file(path_ + "-wal", second_wal.substr(0, cut));
    fs::remove(path_ + "-shm");
    EXPECT_EQ(reopen_and_replay(), "2:a reserved 100 compacted 0") << cut;
    log_.reset();
  }
}

TEST_F(SqliteLogTest, AFolderThatCannotBeWrittenIsNamed) {
  path_ = folder_ + "/missing/store.db";
  EXPECT_NE(open().find("No such file or directory"), std::string::npos);
  path_ = folder_ + "/store.db";
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const std::string sentence = open();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_NE(sentence.find("Permission denied"), std::string::npos) << sentence;
}

TEST_F(SqliteLogTest, ALostStoreFileIsNotMadeAnewOverItsLog) {
  write_file(path_ + "-wal", "precious");
  EXPECT_NE(open().find("has lost its store file"), std::string::npos);
  EXPECT_EQ(file_bytes(path_ + "-wal"), "precious");
}

TEST_F(SqliteLogTest, AFailedCommitIsWholeAndLaterOnesSucceed) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a")}, 100), "");
  // A revision twice is a claim broken by the caller; here it stands for any failure inside a
  // batch.
  LogRecord other_storage = record(3, "b");
  other_storage.storage = "secrets";
  EXPECT_NE(commit({other_storage, record(2, "again")}, 200), "");
  EXPECT_EQ(commit({record(4, "c")}, 300), "");
  EXPECT_EQ(reopen_and_replay(), "2:a 4:c reserved 300 compacted 0");
}

TEST_F(SqliteLogTest, AFileThatMayNotGrowFailsCommitsUntilItMay) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a")}, 100), "");
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  struct rlimit low = before;
  low.rlim_cur = 64 * 1024;
  setrlimit(RLIMIT_FSIZE, &low);
  const std::string refused = commit({record(3, "big", 0, 500'000)}, 100);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_NE(refused, "");
  EXPECT_EQ(commit({record(4, "b")}, 100), "");
  EXPECT_EQ(reopen_and_replay(), "2:a 4:b reserved 100 compacted 0");
}

TEST_F(SqliteLogTest, AFullDiskIsNamedAndSpaceAgainIsEnough) {
  const std::string disk = folder_ + "/disk";
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "no right to mount";
  path_ = disk + "/store.db";
  EXPECT_EQ(open(), "");
  EXPECT_EQ(commit({record(2, "a")}, 100), "");
  const std::string refused = commit({record(3, "big", 0, 2'000'000)}, 100);
  EXPECT_NE(refused.find("no space is left"), std::string::npos) << refused;
  EXPECT_EQ(commit({record(4, "b")}, 100), "");
  EXPECT_EQ(reopen_and_replay(), "2:a 4:b reserved 100 compacted 0");
  log_.reset();
  {
    std::ofstream ballast(disk + "/ballast", std::ios::binary);
    ballast << std::string(1 << 20, 'x') << std::flush;
  }
  const std::string not_opened = open();
  EXPECT_NE(not_opened.find("no space is left"), std::string::npos) << not_opened;
  log_.reset();
  fs::remove(disk + "/ballast");
  EXPECT_EQ(open(), "");
  log_.reset();
  umount(disk.c_str());
}

TEST_F(SqliteLogTest, CompactionDropsWhatWasSupersededUpToTheHorizon) {
  ASSERT_EQ(open(), "");
  ASSERT_EQ(commit({record(2, "a"), record(3, "b"), record(4, "a", 2), deletion(5, "b", 3),
                    record(6, "c"), record(7, "a", 4), record(8, "a", 7)}),
            "");
  // Batches go first, and closing waits only for the step under way: ask until one was made.
  std::string rows;
  for (int attempt = 0; attempt < 100 && rows != "6:c 7:a 8:a reserved 8 compacted 7"; ++attempt) {
    log_->compact(7);
    ASSERT_EQ(commit({}), "");
    rows = reopen_and_replay();
  }
  EXPECT_EQ(rows, "6:c 7:a 8:a reserved 8 compacted 7");
}

// Writers never wait for it: a commit that comes during a step waits for that step alone. The file
// is short again in the end, and watchers of what was dropped are told so.
TEST_F(SqliteLogTest, CompactionUnderLoadKeepsUpAndGivesThePagesBack) {
  ASSERT_EQ(open(), "");
  constexpr int kKeys = 20, kCommits = 200;
  std::vector<Revision> newest(kKeys, 0);
  Revision revision = 1;
  size_t longest = 0;
  for (int round = 0; round < kCommits; ++round) {
    std::vector<LogRecord> records;
    for (int key = 0; key < kKeys; ++key) {
      ++revision;
      records.push_back(
          record(revision, fmt::format("n-{}", key), std::exchange(newest[key], revision), 4000));
    }
    ASSERT_EQ(commit(std::move(records)), "");
    if (round % 20 == 19) log_->compact(revision);
    longest = std::max(longest, fs::file_size(path_));
  }
  // 4,000 objects of 4 kB are 16 MB and more; what is alive is 80 kB.
  EXPECT_LT(longest, 12u << 20);
  // A step is made whenever no batch waits: far fewer than these are left.
  for (int attempt = 0; attempt < 300; ++attempt)
    ASSERT_EQ(commit({}), "");
  log_.reset();  // the last checkpoint
  EXPECT_LT(fs::file_size(path_), 6u << 20);
  ASSERT_EQ(open(), "");
  Store store(loop_, std::move(log_));
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.count("configmaps"), static_cast<size_t>(kKeys));
  const auto missed = store.history("configmaps", 2);
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().reason, Reason::Expired);
}

// A large compaction is many small steps, and every commit that comes goes before the next one:
// none waits for more than the step under way. Were a writer stopped until all is done, its first
// commit would find the compaction over. How long commits take is told, not judged: on two cores
// that a compiler wants too, any of them may wait for milliseconds.
TEST_F(SqliteLogTest, WritersAreNeverStoppedByCompaction) {
  using Clock = std::chrono::steady_clock;
  ASSERT_EQ(open(), "");
  constexpr int kKeys = 500, kRounds = 40, kCommits = 60;
  std::vector<Revision> newest(kKeys, 0);
  Revision revision = 1;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LogRecord> records;
    for (int key = 0; key < kKeys; ++key) {
      ++revision;
      records.push_back(
          record(revision, fmt::format("n-{}", key), std::exchange(newest[key], revision), 1000));
    }
    ASSERT_EQ(commit(std::move(records)), "");
  }
  const auto commits = [&] {  // each as long as it took, sorted
    std::vector<Clock::duration> times;
    for (int i = 0; i < kCommits; ++i) {
      const auto began = Clock::now();
      ++revision;
      EXPECT_EQ(commit({record(revision, "w", std::exchange(newest[0], revision))}), "");
      times.push_back(Clock::now() - began);
    }
    std::ranges::sort(times);
    return times;
  };
  const auto quiet = commits();
  log_->compact(revision);  // 19,500 rows are superseded: about a hundred steps
  const auto busy = commits();
  const std::string rows = reopen_and_replay();
  EXPECT_FALSE(rows.ends_with("compacted 0")) << "no step was made between the commits";
  EXPECT_FALSE(rows.ends_with(fmt::format("compacted {}", revision - kCommits)))
      << "it was over before the commits were: they did not meet";
  const auto in_ms = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  RecordProperty("commit_p99_ms_quiet", std::to_string(in_ms(quiet[kCommits - 1])));
  RecordProperty("commit_p99_ms_compacting", std::to_string(in_ms(busy[kCommits - 1])));
  fmt::print(
      "longest commit: {:.2f} ms alone, {:.2f} ms while compacting; median {:.2f} and {:.2f}\n",
      in_ms(quiet.back()), in_ms(busy.back()), in_ms(quiet[kCommits / 2]),
      in_ms(busy[kCommits / 2]));
}

TEST_F(SqliteLogTest, TheWriteAheadLogStartsAnew) {
  ASSERT_EQ(open(), "");
  Revision revision = 1;
  for (int round = 0; round < 40; ++round) {
    std::vector<LogRecord> records;
    for (int n = 0; n < 300; ++n)
      records.push_back(record(++revision, fmt::format("n-{}", revision), 0, 4000));
    ASSERT_EQ(commit(std::move(records)), "");
  }
  // 12,000 objects are about 100 MB of pages: the file would be as long without checkpoints.
  EXPECT_LT(fs::file_size(path_ + "-wal"), 60u << 20);
}

TEST_F(SqliteLogTest, AStoreLivesOnIt) {
  const Key key{"configmaps", "default", "a"};
  for (int life = 0; life < 3; ++life) {
    ASSERT_EQ(open(), "");
    Store store(loop_, std::move(log_));
    ASSERT_TRUE(store.open());
    const ObjectPtr current = store.get(key);
    EXPECT_EQ(current != nullptr, life > 0);
    std::optional<Revision> made;
    store.write({key, current ? current->revision() : 0, record(1, "a").object},
                [&](const Result<Committed>& result) { made = result ? result->revision : 0; });
    loop_.run_until([&] { return made.has_value(); });
    EXPECT_GT(*made, current ? current->revision() : 0);
    EXPECT_EQ(store.get(key)->revision(), *made);
  }
}

// Not a claim but a measurement. With YARD_BENCH_FOLDER set, the first run fills a store there with
// 100,000 objects; every later one opens it, and the time printed beside the test is that of a
// start.
TEST_F(SqliteLogTest, StartIsMeasuredOnRequest) {
  const char* bench_folder = std::getenv("YARD_BENCH_FOLDER");
  if (!bench_folder) GTEST_SKIP() << "set YARD_BENCH_FOLDER to a folder";
  path_ = std::string(bench_folder) + "/bench.db";
  const bool fills = !fs::exists(path_);
  constexpr Revision kObjects = 100'000;
  ASSERT_EQ(open(), "");
  for (Revision revision = 2; fills && revision < kObjects + 2;) {
    std::vector<LogRecord> records;
    for (int n = 0; n < 1000; ++n, ++revision) {
      records.push_back(record(revision, fmt::format("pod-{}", revision), 0, 3500));
    }
    ASSERT_EQ(commit(std::move(records)), "");
  }
  Store store(loop_, std::move(log_));
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.count("configmaps"), kObjects);
  fmt::print("{} MB in memory\n", store.statistics().object_bytes >> 20);
}

}  // namespace
}  // namespace yard
