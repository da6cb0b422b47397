#include "node/volume_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace yard {
namespace {

namespace fs = std::filesystem;

class VolumeFilesTest : public ::testing::Test {
 protected:
  VolumeFilesTest() {
    char name[] = "/tmp/volume-files-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~VolumeFilesTest() override { fs::remove_all(folder_); }
  static LaunchVolume volume(std::vector<LaunchFile> files) {
    LaunchVolume out;
    out.type = LaunchVolume::Type::Files;
    out.files = std::move(files);
    return out;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ + "/" + name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

TEST_F(VolumeFilesTest, FilesChangeInOneStepAndLeaveNothingBehind) {
  ASSERT_TRUE(make_volume(volume({{"token", "one", 0644}, {"sub/ca", "x", 0644}}), folder_));
  EXPECT_EQ(read("token"), "one");
  const size_t before = entries();
  for (const char* content : {"two", "three", "four"}) {
    ASSERT_TRUE(
        replace_volume_files(volume({{"token", content, 0644}, {"sub/ca", "x", 0644}}), folder_));
    EXPECT_EQ(read("token"), content);
    EXPECT_EQ(read("sub/ca"), "x");
    EXPECT_EQ(entries(), before);
  }
  EXPECT_TRUE(fs::is_symlink(folder_ + "/token"));
  EXPECT_EQ(fs::read_symlink(folder_ + "/token"), "..data/token");
}

TEST_F(VolumeFilesTest, AVolumeMadeAgainHasTheNewFiles) {
  ASSERT_TRUE(make_volume(volume({{"token", "one", 0644}}), folder_));
  ASSERT_TRUE(replace_volume_files(volume({{"token", "two", 0644}}), folder_));
  ASSERT_TRUE(make_volume(volume({{"token", "three", 0600}, {"more", "m", 0644}}), folder_));
  EXPECT_EQ(read("token"), "three");
  EXPECT_EQ(read("more"), "m");
}

}  // namespace
}  // namespace yard
