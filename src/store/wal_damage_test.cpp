#include "store/wal_damage.h"

#include <algorithm>

#include "store/sqlite_log_testing.h"

namespace yard {
namespace {

class WalDamageTest : public SqliteLogTest {
 protected:
  // As a machine that stopped without a word left them: commits 2 to 9, of several frames each.
  void SetUp() override {
    SqliteLogTest::SetUp();
    ASSERT_EQ(open(), "");
    for (Revision revision = 2; revision < 10; ++revision) {
      ends_.push_back(fs::exists(path_ + "-wal") ? fs::file_size(path_ + "-wal") : 0);
      ASSERT_EQ(commit({record(revision, fmt::format("n-{}", revision), 0, 6000)}, 100), "");
    }
    wal_ = file_bytes(path_ + "-wal");
    store_ = file_bytes(path_);
    log_.reset();
  }

  std::string open_with(const std::string& wal) {
    log_.reset();
    write_file(path_, store_);
    write_file(path_ + "-wal", wal);
    fs::remove(path_ + "-shm");
    return reopen_and_replay();
  }

  std::string spoiled(size_t at, size_t bytes) const {
    std::string wal = wal_;
    for (size_t i = at; i < std::min(at + bytes, wal.size()); ++i)
      wal[i] = static_cast<char>(wal[i] ^ 0x20);
    return wal;
  }

  std::vector<size_t> ends_;  // of the log before each commit
  std::string wal_, store_;
};

TEST_F(WalDamageTest, ABitThatTurnsAnywhereBeforeTheLastCommitIsFound) {
  ASSERT_EQ(find_wal_damage(wal_), std::nullopt);
  ASSERT_GT(ends_.back(), 50'000u);
  for (size_t at = 0; at < ends_.back(); at += at < 4200 ? 1 : 997)
    ASSERT_TRUE(find_wal_damage(spoiled(at, 1)).has_value()) << at;
}

TEST_F(WalDamageTest, SoIsALostBlockAndItsPlaceIsTold) {
  for (const size_t block : {512u, 4096u, 20'000u}) {
    for (size_t at = 4096; at + block < ends_.back() - 4200; at += 4096) {
      std::string wal = wal_;
      wal.replace(at, block, block, '\0');
      const size_t changed =
          static_cast<size_t>(std::ranges::mismatch(wal, wal_).in1 - wal.begin());
      if (changed == wal.size()) continue;  // it was empty there
      const auto damage = find_wal_damage(wal);
      ASSERT_TRUE(damage.has_value()) << at << " " << block;
      EXPECT_LE(*damage, changed);
      EXPECT_GT(*damage + 4096 + 24, changed);
    }
  }
}

TEST_F(WalDamageTest, TheServerRefusesItAndTheCommandItNamesKeepsWhatWasBefore) {
  const std::string sentence = open_with(spoiled(ends_[4] + 300, 1));  // in the commit of n-6
  EXPECT_NE(sentence.find("store.db-wal is damaged at byte"), std::string::npos) << sentence;
  EXPECT_EQ(file_bytes(path_ + "-wal"), spoiled(ends_[4] + 300, 1)) << "it was left as it is";
  const std::string cut = sentence.substr(sentence.find("truncate -s ") + 12);
  EXPECT_EQ(open_with(wal_.substr(0, std::stoul(cut))),
            "2:n-2 3:n-3 4:n-4 5:n-5 reserved 100 compacted 0");
}

TEST_F(WalDamageTest, ACommitInPiecesIsNone) {
  const std::string all_but_last =
      "2:n-2 3:n-3 4:n-4 5:n-5 6:n-6 7:n-7 8:n-8 reserved 100 compacted 0";
  const size_t begin = ends_.back();
  for (size_t at = begin; at < wal_.size(); at += 511) {
    EXPECT_EQ(find_wal_damage(wal_.substr(0, at)), std::nullopt) << at;
    EXPECT_EQ(find_wal_damage(spoiled(at, 1)), std::nullopt) << at;
    std::string hole = wal_;
    hole.replace(begin, at - begin, at - begin, '\0');  // its end reached the disk first
    EXPECT_EQ(find_wal_damage(hole), std::nullopt) << at;
  }
  EXPECT_EQ(open_with(spoiled(begin + 100, 1)), all_but_last);
}

// Frames of commits that failed stay behind those that took their place.
TEST_F(WalDamageTest, WhatFailedCommitsLeftBehindIsNone) {
  const size_t frame = 4096 + 24;
  const std::string kept = wal_.substr(0, ends_[3]);
  const auto failed = [&](size_t commit) {
    return wal_.substr(ends_[commit], ends_[commit + 1] - ends_[commit]);
  };
  EXPECT_EQ(find_wal_damage(kept + failed(5)), std::nullopt);
  EXPECT_EQ(find_wal_damage(kept + failed(5).substr(frame) + failed(4).substr(frame)),
            std::nullopt);
  EXPECT_EQ(find_wal_damage(kept + failed(4) + failed(6) + failed(5)), std::nullopt);
}

TEST_F(WalDamageTest, NorIsAnEmptyOneOrForeignBytes) {
  for (const std::string& wal : {std::string(), std::string("precious"), std::string(32, '\0'),
                                 std::string(100'000, '\0'), std::string(100'000, 'x')})
    EXPECT_EQ(find_wal_damage(wal), std::nullopt);
}

}  // namespace
}  // namespace yard
