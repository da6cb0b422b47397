#include "node/transient.h"

#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "node/files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

class TransientTest : public testing::Test {
 protected:
  void SetUp() override {
    state_ = testing::TempDir() + "yard-transient-" + std::to_string(getpid());
    fs::remove_all(state_);
    fs::create_directories(state_ + "/run/alive");
    place_ = prepare_transient(state_);
  }
  void TearDown() override {
    if (!place_.empty()) fs::remove_all(place_);
    fs::remove_all(state_);
  }
  std::string state_, place_;
};

TEST_F(TransientTest, a_pod_without_a_folder_in_memory_has_all_in_its_run_folder) {
  EXPECT_EQ(transient_of(state_, "alive"), state_ + "/run/alive");
}

TEST_F(TransientTest, the_place_is_the_same_for_every_server_of_a_state_folder_and_ours_alone) {
  if (place_.empty()) GTEST_SKIP() << "/dev/shm DOES NOT SUIT HERE: pods lie on the disk";
  EXPECT_EQ(prepare_transient(state_ + "/"), place_);
  struct stat facts;
  ASSERT_EQ(stat(place_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  chmod(place_.c_str(), 0755);
  EXPECT_EQ(prepare_transient(state_), "") << "others can look into it";
  chmod(place_.c_str(), 0700);
}

TEST_F(TransientTest, what_no_pod_has_is_swept_and_the_rest_stays) {
  if (place_.empty()) GTEST_SKIP() << "/dev/shm DOES NOT SUIT HERE: pods lie on the disk";
  for (const char* uid : {"alive", "gone"})
    fs::create_directories(place_ + "/" + uid);
  sweep_transient(state_);
  EXPECT_EQ(transient_of(state_, "alive"), place_ + "/alive");
  EXPECT_FALSE(fs::exists(place_ + "/gone"));
}

TEST_F(TransientTest, after_the_last_pod_what_tells_of_ends_is_on_the_disk_and_memory_is_free) {
  if (place_.empty()) GTEST_SKIP() << "/dev/shm DOES NOT SUIT HERE: pods lie on the disk";
  const std::string pod = place_ + "/alive";
  fs::create_directories(pod + "/messages");
  for (const auto& [path, text] : {std::pair{"/messages/c.0", "why"},
                                   {"/messages/c.1", ""},
                                   {"/c.0.json", "{}"},
                                   {"/hosts", "127.0.0.1"}})
    ASSERT_TRUE(write_text(pod + path, text, 0600).has_value());
  settle_transient(state_);
  EXPECT_FALSE(fs::exists(place_));
  EXPECT_EQ(transient_of(state_, "alive"), state_ + "/run/alive");
  EXPECT_EQ(read_text(state_ + "/run/alive/messages/c.0", 100), "why");
  EXPECT_EQ(read_text(state_ + "/run/alive/c.0.json", 100), "{}");
  EXPECT_FALSE(fs::exists(state_ + "/run/alive/messages/c.1"));
  EXPECT_FALSE(fs::exists(state_ + "/run/alive/hosts"));
}

TEST_F(TransientTest, what_a_state_folder_that_is_gone_has_left_is_taken_away_by_the_next_server) {
  if (place_.empty()) GTEST_SKIP() << "/dev/shm DOES NOT SUIT HERE: pods lie on the disk";
  const std::string other = state_ + "-other";
  fs::create_directories(other);
  const std::string forsaken = prepare_transient(other);
  ASSERT_NE(forsaken, "");
  prepare_transient(state_);
  EXPECT_TRUE(fs::exists(forsaken));
  fs::remove_all(other);
  const std::string note = read_text(forsaken + "/state", 4096).value_or("");
  ASSERT_TRUE(write_text(forsaken + "/state", other + "\n1:1\n", 0600).has_value());
  prepare_transient(state_);
  EXPECT_TRUE(fs::exists(forsaken)) << "another root may have that state folder";
  ASSERT_TRUE(write_text(forsaken + "/state", note, 0600).has_value());
  prepare_transient(state_);
  EXPECT_FALSE(fs::exists(forsaken));
}

}  // namespace
}  // namespace yard
