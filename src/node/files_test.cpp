#include "node/files.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace yard {
namespace {

namespace fs = std::filesystem;

class RemoveFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    place_ = testing::TempDir() + "yard-files-" + std::to_string(getpid());
    fs::remove_all(place_);
    fs::create_directories(place_ + "/outside");
    std::ofstream(place_ + "/outside/kept") << "kept";
  }
  void TearDown() override { fs::remove_all(place_); }
  std::string place_;
};

TEST_F(RemoveFolderTest, EveryShapeGoesAndNoLinkIsFollowed) {
  struct Row {
    const char* sentence;
    std::function<void(const std::string&)> make;
  };
  const Row rows[] = {
      {"nothing there", [](const std::string&) {}},
      {"empty", [](const std::string& at) { fs::create_directories(at); }},
      {"files, folders and a socket's place",
       [](const std::string& at) {
         fs::create_directories(at + "/a/b/c");
         std::ofstream(at + "/a/b/text") << "x";
         mkfifo((at + "/a/pipe").c_str(), 0600);
       }},
      {"links to a folder and to a file outside",
       [this](const std::string& at) {
         fs::create_directories(at);
         fs::create_directory_symlink(place_ + "/outside", at + "/folder");
         fs::create_symlink(place_ + "/outside/kept", at + "/file");
       }},
      {"more entries than one reading gives",
       [](const std::string& at) {
         fs::create_directories(at);
         for (int i = 0; i < 500; ++i)
           std::ofstream(at + "/entry-" + std::to_string(i)) << i;
       }},
      {"deeper than a pod of ours is",
       [](const std::string& at) {
         std::string deep = at;
         for (int i = 0; i < 100; ++i)
           deep += "/d";
         fs::create_directories(deep);
       }},
      {"a folder that is closed to its owner",
       [](const std::string& at) {
         fs::create_directories(at + "/closed/below");
         chmod((at + "/closed").c_str(), 0);
       }},
      {"a file", [](const std::string& at) { std::ofstream(at) << "x"; }},
  };
  for (const Row& row : rows) {
    const std::string folder = place_ + "/folder";
    row.make(folder);
    remove_folder(folder);
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder))) << row.sentence;
    EXPECT_EQ(read_text(place_ + "/outside/kept", 10), "kept") << row.sentence;
  }
}

TEST_F(RemoveFolderTest, AFolderIsMadeBesideAnotherAndOnlyWhereNoneIs) {
  struct Row {
    const char* sentence;
    const char* there;  // what is in the folder's place before
    const char* left;   // and after
  };
  const Row rows[] = {
      {"none is there", nullptr, nullptr},
      {"one is there, empty", "", nullptr},
      {"one is there, with something in it", "/log", "/log"},
  };
  for (const Row& row : rows) {
    const std::string folder = place_ + "/folder", neighbour = place_ + "/neighbour";
    fs::create_directories(neighbour);
    if (row.there != nullptr) fs::create_directories(folder + row.there);
    const auto made = make_folder_beside(neighbour, folder, 0700);
    EXPECT_TRUE(made.has_value()) << row.sentence;
    EXPECT_TRUE(fs::is_directory(folder)) << row.sentence;
    EXPECT_EQ(fs::is_empty(folder), row.left == nullptr) << row.sentence;
    EXPECT_TRUE(fs::is_empty(neighbour)) << row.sentence;
    fs::remove_all(folder);
  }
  EXPECT_FALSE(make_folder_beside(place_ + "/nowhere", place_ + "/folder", 0700).has_value());
}

}  // namespace
}  // namespace yard
