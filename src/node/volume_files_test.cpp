#include "node/volume_files.h"

#include <filesystem>
#include <set>
#include <stdlib.h>

#include <gtest/gtest.h>

#include "node/files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

class VolumeFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/volume-files-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { remove_folder(folder_); }

  LaunchVolume files(std::vector<LaunchFile> list) const {
    LaunchVolume out;
    out.name = "v";
    out.type = LaunchVolume::Type::Files;
    out.files = std::move(list);
    return out;
  }
  std::string shown(const std::string& path) const {
    return read_text(volume() + "/" + path, 4096).value_or("<none>");
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(volume()))
      out.insert(entry.path().filename().string());
    return out;
  }
  std::string volume() const { return folder_ + "/v"; }

  std::string folder_;
};

TEST_F(VolumeFiles, AreLinksIntoOneVersion) {
  ASSERT_TRUE(make_volume(files({{"a", "1", 0644}, {"deep/b", "2", 0600}}), volume()));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", "..first", "a", "deep"}));
  EXPECT_EQ(fs::read_symlink(volume() + "/a"), "..data/a");
  EXPECT_EQ(shown("a") + shown("deep/b"), "12");
  EXPECT_EQ(fs::status(volume() + "/deep/b").permissions(), fs::perms(0600));
}

TEST_F(VolumeFiles, AnUpdateShowsAllOfTheNewOnesAndNoneOfTheOld) {
  ASSERT_TRUE(make_volume(files({{"a", "1", 0644}, {"gone", "2", 0644}}), volume()));
  ASSERT_TRUE(update_volume_files(files({{"a", "3", 0644}, {"new", "4", 0644}}), volume()));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", "..2", "a", "new"}));
  EXPECT_EQ(shown("a") + shown("new") + shown("gone"), "34<none>");
  ASSERT_TRUE(update_volume_files(files({{"a", "5", 0644}}), volume()));
  EXPECT_EQ(names(), (std::set<std::string>{"..data", "..3", "a"}));
}

TEST_F(VolumeFiles, WhatIsTheSameIsLeftAlone) {
  const LaunchVolume same = files({{"a", "1", 0644}});
  ASSERT_TRUE(make_volume(same, volume()));
  ASSERT_TRUE(update_volume_files(same, volume()));
  EXPECT_EQ(fs::read_symlink(volume() + "/..data"), "..first");
}

TEST_F(VolumeFiles, AHostPathOfAnotherTypeIsNamed) {
  LaunchVolume volume_of_host;
  volume_of_host.name = "h";
  volume_of_host.type = LaunchVolume::Type::HostPath;
  volume_of_host.path = folder_ + "/absent";
  volume_of_host.path_type = "Directory";
  const auto made = make_volume(volume_of_host, volume());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "MountVolume.SetUp failed for volume \"h\" : hostPath type check failed: " + folder_ +
                "/absent is not a directory");
}

}  // namespace
}  // namespace yard
