// The log on files that lose what was not synced, that tear writes, and that take half of one: what
// was acknowledged is there afterwards, batches are whole, and what was refused is not there.

#include "store/lossy_files_testing.h"
#include "store/sqlite_log_testing.h"

namespace yard {
namespace {

class PowerLossTest : public SqliteLogTest {
 protected:
  void TearDown() override {
    SqliteLogTest::TearDown();
    LossyFiles::instance().end();
  }

  // A batch of a few objects, some of them large; the store never makes a smaller revision again.
  std::vector<LogRecord> batch() {
    std::vector<LogRecord> records;
    for (uint64_t left = 1 + random_.below(4); left > 0; --left) {
      const size_t bytes = random_.below(8) == 0 ? 100'000 : random_.below(5000);
      ++revision_;
      records.push_back(record(revision_, fmt::format("n-{}", revision_), 0, bytes));
    }
    return records;
  }

  static std::string text_of(const std::vector<LogRecord>& records) {
    std::string text;
    for (const LogRecord& one : records)
      text += fmt::format("{}:{} ", one.revision, one.name);
    return text;
  }

  // Opens and reads back; every row must be of an acknowledged batch, or of the one in doubt,
  // whole.
  void expect_kept() {
    ASSERT_EQ(open(), "");
    const std::string rows = replay();
    const std::string kept = rows.substr(0, rows.find("reserved"));
    EXPECT_TRUE(kept == acknowledged_ || kept == acknowledged_ + doubtful_)
        << "have " << kept << "\nacknowledged " << acknowledged_ << "\nin doubt " << doubtful_;
    acknowledged_ = kept;
    doubtful_.clear();
  }

  // The machine comes back: what memory shared is gone, the files are what the disk had.
  void power_is_back() {
    log_.reset();
    fs::remove(path_ + "-shm");
    LossyFiles::instance().lose(file_bytes, write_file);
  }

  Random random_{1};
  Revision revision_ = 1;
  std::string acknowledged_, doubtful_;  // rows as replay() prints them
};

TEST_F(PowerLossTest, WhatWasAcknowledgedIsThereWhenThePowerIsBack) {
  LossyFiles& files = LossyFiles::instance();
  size_t in_doubt = 0;
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    random_ = Random(seed);
    files.begin(seed);
    path_ = fmt::format("{}/store-{}.db", folder_, seed);
    acknowledged_.clear();
    for (int life = 0; life < 6 && !HasFailure(); ++life) {
      expect_kept();
      files.cut_power_after(20 + random_.below(300));
      while (doubtful_.empty()) {
        const std::vector<LogRecord> records = batch();
        if (commit(records).empty()) {
          acknowledged_ += text_of(records);
        } else {
          doubtful_ = text_of(records);
        }
      }
      ++in_doubt;
      power_is_back();
    }
    expect_kept();
    log_.reset();
    files.end();
  }
  files.begin(0);  // TearDown ends it
  EXPECT_GT(files.lost() + files.torn(), in_doubt) << "there was something to lose";
  EXPECT_GT(files.torn(), 0u);
}

TEST_F(PowerLossTest, AWriteThatEndsHalfWayFailsItsBatchAlone) {
  LossyFiles& files = LossyFiles::instance();
  files.begin(3);
  ASSERT_EQ(open(), "");
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    files.fail_writes(round % 3 == 0 ? 10 : 0);
    const std::vector<LogRecord> records = batch();
    if (commit(records).empty()) {
      acknowledged_ += text_of(records);
    } else {
      ++refused;
    }
  }
  files.fail_writes(0);
  EXPECT_GT(refused, 5);
  log_.reset();
  expect_kept();
  const std::vector<LogRecord> one_more = batch();
  ASSERT_EQ(commit(one_more), "");
  acknowledged_ += text_of(one_more);
  log_.reset();
  expect_kept();
}

}  // namespace
}  // namespace yard
