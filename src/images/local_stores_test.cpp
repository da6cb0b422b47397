#include "images/local_stores.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "images/store.h"
#include "images/tar_split.h"
#include "images/write_tar.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

// What tar-split keeps of a stream: all but the contents of its files.
std::string split_of(const std::string& tar, const std::string& name, const std::string& content) {
  const std::size_t at = tar.find(content);
  return R"({"type":2,"payload":")" + base64_encode(tar.substr(0, at)) + R"(","position":0})" +
         "\n" + R"({"type":1,"name":")" + name + R"(","size":)" + std::to_string(content.size()) +
         R"(,"payload":"AAAA","position":1})" + "\n" + R"({"type":2,"payload":")" +
         base64_encode(tar.substr(at + content.size())) + R"(","position":2})" + "\n";
}

class LocalStoresTest : public testing::Test {
 protected:
  LocalStoresTest() {
    char path[] = "/tmp/images-local-XXXXXX";
    folder_ = ::mkdtemp(path);
    TarWriter writer([&](std::string_view bytes) -> Result<void> {
      tar_ += bytes;
      return {};
    });
    EXPECT_TRUE(writer.file("app/word", content_));
    EXPECT_TRUE(writer.finish());
    diff_id_ = "sha256:" + sha256_hex(tar_);
    config_ = R"({"os":"linux","architecture":")" + machine_platform().architecture +
              R"(","config":{"User":"me"},"rootfs":{"diff_ids":[")" + diff_id_ + "\"]}}";
    id_ = sha256_hex(config_);
  }
  ~LocalStoresTest() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  void make_podman_store() {
    const std::string layer = diff_id_.substr(7);
    write("overlay-images/images.json",
          R"([{"id":")" + id_ + R"(","digest":"sha256:)" + std::string(64, 'd') +
              R"(","names":["localhost/me/app:1"],"layer":")" + layer + "\"}]");
    write("overlay-images/" + id_ + "/=" + base64_encode("sha256:" + id_), config_);
    write("overlay-layers/layers.json", R"([{"id":")" + layer + R"(","diff-digest":")" + diff_id_ +
                                            R"(","diff-size":)" + std::to_string(tar_.size()) +
                                            "}]");
    write("overlay-layers/" + layer + ".tar-split.gz", split_of(tar_, "./app/word", content_));
    write("overlay/" + layer + "/diff/app/word", content_);
  }
  void make_docker_store() {
    write("image/overlay2/repositories.json",
          R"({"Repositories":{"me/app":{"me/app:1":"sha256:)" + id_ + "\"}}}");
    write("image/overlay2/imagedb/content/sha256/" + id_, config_);
    const std::string about = "image/overlay2/layerdb/sha256/" + diff_id_.substr(7);
    write(about + "/cache-id", "abc");
    write(about + "/size", std::to_string(content_.size()));
    write(about + "/tar-split.json.gz", split_of(tar_, "app/word", content_));
    write("overlay2/abc/diff/app/word", content_);
  }
  // Taken into a store of ours: its digests have then been checked.
  Result<StoredImage> taken(const std::string& name) {
    LocalStores stores({folder_});
    const auto image = TRY(stores.open(name));
    if (!image) return error(Reason::NotFound, "none has it");
    fs::create_directories(folder_ + "/state");
    ImageStore store = TRY(ImageStore::open(folder_ + "/state"));
    TakeOptions options;
    options.name = name;
    options.origin = ImageOrigin::LocalStore;
    return take_image(store, *image, options);
  }

  std::string folder_, tar_, content_ = "the word that is only in the file", diff_id_, config_, id_;
};

TEST_F(LocalStoresTest, PodmansImagesAreReadAsTheyLie) {
  make_podman_store();
  for (const char* name : {"me/app:1", "localhost/me/app:1", "docker.io/me/app:1"}) {
    const auto image = taken(name);
    ASSERT_TRUE(image) << name << ": " << image.error().message;
    EXPECT_EQ(image->config_digest, "sha256:" + id_);
    EXPECT_EQ(image->config.diff_ids, std::vector<std::string>{diff_id_});
    EXPECT_EQ(image_id_of(*image), "sha256:" + id_);
  }
  LocalStores stores({folder_});
  EXPECT_EQ(stores.find("localhost/me/app@sha256:" + std::string(64, 'd')), "sha256:" + id_);
  for (const char* name : {"me/app:2", "r.lab/me/app:1", "other"})
    EXPECT_EQ(stores.find(name), "") << name;
}

TEST_F(LocalStoresTest, DockersImagesAreReadAsTheyLie) {
  make_docker_store();
  const auto image = taken("docker.io/me/app:1");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->config.user, "me");
}

TEST_F(LocalStoresTest, WhatIsDamagedOrMissingIsSaid) {
  struct Row {
    const char* sentence;
    std::function<void(const std::string& layer)> change;
    const char* problem;
  };
  const Row rows[] = {
      {"a file that was changed",
       [&](const std::string& layer) {
         write("overlay/" + layer + "/diff/app/word", "THE word that is only in the file");
       },
       "has the digest"},
      {"a file that is shorter",
       [&](const std::string& layer) { write("overlay/" + layer + "/diff/app/word", "the"); },
       "is shorter than it was"},
      {"a file that is gone",
       [&](const std::string& layer) {
         fs::remove(folder_ + "/overlay/" + layer + "/diff/app/word");
       },
       "cannot open"},
      {"a link that leads out",
       [&](const std::string& layer) {
         const std::string path = folder_ + "/overlay/" + layer + "/diff/app";
         fs::remove_all(path);
         fs::create_symlink("/etc", path);
       },
       "cannot open"},
      {"no list of its parts",
       [&](const std::string& layer) {
         fs::remove(folder_ + "/overlay-layers/" + layer + ".tar-split.gz");
       },
       "cannot open"},
      {"a list that is cut off",
       [&](const std::string& layer) {
         write("overlay-layers/" + layer + ".tar-split.gz", R"({"type":2,"payl)");
       },
       "cut off"},
      {"a layer nobody has", [&](const std::string&) { write("overlay-layers/layers.json", "[]"); },
       "has not all layers"},
  };
  for (const Row& row : rows) {
    fs::remove_all(folder_);
    make_podman_store();
    row.change(diff_id_.substr(7));
    const auto image = taken("me/app:1");
    ASSERT_FALSE(image) << row.sentence;
    EXPECT_NE(image.error().message.find(row.problem), std::string::npos)
        << row.sentence << ": " << image.error().message;
  }
}

TEST_F(LocalStoresTest, AnIndexThatChangesIsReadAgain) {
  LocalStores stores({folder_});
  EXPECT_EQ(stores.find("me/app:1"), "");
  make_podman_store();
  EXPECT_EQ(stores.find("me/app:1"), "sha256:" + id_);
  fs::remove(folder_ + "/overlay-images/images.json");
  EXPECT_EQ(stores.find("me/app:1"), "");
}

TEST(UsualLocalStores, AreTheUsersThenTheMachines) {
  EXPECT_EQ(usual_local_stores("/home/me", "").front(), "/home/me/.local/share/containers/storage");
  EXPECT_EQ(usual_local_stores("/home/me", "/data").front(), "/data/containers/storage");
  EXPECT_EQ(usual_local_stores("", "").front(), "/var/lib/containers/storage");
}

}  // namespace
}  // namespace yard
