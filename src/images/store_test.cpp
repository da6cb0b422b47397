#include "images/store.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <gtest/gtest.h>

#include "images/archive.h"
#include "images/make_image.h"
#include "images/write_tar.h"

namespace yard {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char path[] = "/tmp/images-store-XXXXXX";
    folder_ = ::mkdtemp(path);
  }
  ~StoreTest() override { (void)remove_tree(folder_); }

  ImageStore store() {
    auto opened = ImageStore::open(folder_);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  std::string read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
  }
  std::string folder_;
};

struct LayerRow {
  std::string path;
  char type = '0';
  std::string content, link = {};
};

std::string layer(const std::vector<LayerRow>& rows) {
  std::string out;
  TarWriter writer([&](std::string_view bytes) -> Result<void> {
    out.append(bytes);
    return {};
  });
  for (const LayerRow& row : rows) {
    TarEntry entry;
    entry.path = row.path;
    entry.type = row.type;
    entry.link = row.link;
    entry.mode = row.type == '5' ? 0755 : 0644;
    entry.size = static_cast<std::int64_t>(row.content.size());
    EXPECT_TRUE(writer.entry(entry));
    EXPECT_TRUE(writer.data(row.content));
    EXPECT_TRUE(writer.end_data());
  }
  EXPECT_TRUE(writer.finish());
  return out;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An image of these layers, each sent as given; `diff` are the plain streams.
IncomingImage incoming(const std::vector<std::string>& sent,
                       const std::vector<std::string>& plain) {
  IncomingImage out;
  std::string ids;
  for (const std::string& each : plain)
    ids += (ids.empty() ? "\"sha256:" : ",\"sha256:") + sha256_hex(each) + "\"";
  const Platform here = machine_platform();
  out.config_bytes = R"({"os":"linux","architecture":")" + here.architecture +
                     R"(","config":{},"rootfs":{"diff_ids":[)" + ids + "]}}";
  out.manifest.config = {"", "sha256:" + sha256_hex(out.config_bytes),
                         static_cast<std::int64_t>(out.config_bytes.size())};
  for (const std::string& each : sent)
    out.manifest.layers.push_back({std::string(media_types::kOciLayer) + "+gzip",
                                   "sha256:" + sha256_hex(each),
                                   static_cast<std::int64_t>(each.size())});
  out.manifest_bytes = encode(out.manifest);
  out.send_layer = [sent](std::size_t index, const ByteSink& sink) { return sink(sent[index]); };
  return out;
}

TEST_F(StoreTest, AnImageIsWholeOrNotThere) {
  ImageStore images = store();
  const std::string good = layer({{"bin", '5', ""}, {"bin/tool", '0', "text"}});
  const std::string packed = gzipped(good);
  struct Row {
    const char* sentence;
    std::function<void(IncomingImage&)> change;
    const char* problem;
  };
  const Row rows[] = {
      {"bytes that are not the digest's",
       [&](IncomingImage& image) {
         image = incoming({good}, {good});
         image.send_layer = [other = layer({{"bin", '5', ""}, {"bin/tool", '0', "evil"}})](
                                std::size_t, const ByteSink& sink) { return sink(other); };
       },
       "manifest says"},
      {"a stream that is cut off",
       [&](IncomingImage& image) {
         image.send_layer = [packed](std::size_t, const ByteSink& sink) {
           return sink(std::string_view(packed).substr(0, packed.size() / 2));
         };
       },
       "cut off"},
      {"a stream that never ends",
       [&](IncomingImage& image) {
         image.send_layer = [packed](std::size_t, const ByteSink& sink) -> Result<void> {
           for (int i = 0; i < 1000; ++i)
             TRY(sink(packed));
           return {};
         };
       },
       "longer than"},
      {"a configuration of another image", [](IncomingImage& image) { image.config_bytes += " "; },
       "configuration has the digest"},
      {"a media type that is no layer's",
       [](IncomingImage& image) { image.manifest.layers[0].media_type = "text/html"; },
       "media type"},
      {"fewer layers than the configuration says",
       [](IncomingImage& image) { image.manifest.layers.clear(); }, "0 layers"},
  };
  for (const Row& row : rows) {
    IncomingImage image = incoming({packed}, {good});
    row.change(image);
    const auto taken = take_image(images, image, {.name = "bad"});
    ASSERT_FALSE(taken) << row.sentence;
    EXPECT_NE(taken.error().message.find(row.problem), std::string::npos)
        << row.sentence << ": " << taken.error().message;
    EXPECT_FALSE(images.find("bad")) << row.sentence;
    EXPECT_TRUE(fs::is_empty(images.folder() + "/staging")) << row.sentence;
    EXPECT_TRUE(fs::is_empty(images.folder() + "/layers")) << row.sentence;
  }
  const auto taken = take_image(images, incoming({packed}, {good}), {.name = "good"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(read(images.layer_folder(taken->config.diff_ids[0]) + "/bin/tool"), "text");
  ASSERT_TRUE(images.find("docker.io/library/good"));
}

TEST_F(StoreTest, NoLayerWritesOutsideItsFolder) {
  write("outside/secret", "kept");
  const std::string outside = folder_ + "/outside";
  struct Row {
    const char* sentence;
    std::vector<LayerRow> rows;
    const char* problem;  // "" : unpacked, harmlessly
  };
  const Row table[] = {
      {"two dots in a path", {{"../../outside/secret", '0', "evil"}}, "`..`"},
      {"two dots in a hard link", {{"x", '1', "", "../../outside/secret"}}, "`..`"},
      {"an absolute path lands inside", {{outside + "/secret", '0', "evil"}}, ""},
      {"a file through an absolute link",
       {{"l", '2', "", outside}, {"l/secret", '0', "evil"}},
       "cannot reach"},
      {"a file through a link with dots",
       {{"l", '2', "", "../../../../../../" + outside}, {"l/secret", '0', "evil"}},
       "cannot reach"},
      {"a link in place of a file", {{"f", '2', "", outside + "/secret"}, {"f", '0', "evil"}}, ""},
      {"a hard link to an absolute path",
       {{"h", '1', "", outside + "/secret"}, {"h", '0', "evil"}},
       "not in it"},
      {"a whiteout of the parent", {{".wh...", '0', ""}}, "whiteout of nothing"},
      {"a whiteout through a link",
       {{"l", '2', "", outside}, {"l/.wh.secret", '0', ""}},
       "cannot reach"},
      {"a file through a link to a folder of the layer",
       {{"real", '5', ""}, {"l", '2', "", "/real"}, {"l/f", '0', "x"}},
       ""},
      {"device nodes are left out", {{"dev/null", '3', ""}, {"dev/sda", '4', ""}}, ""},
  };
  int number = 0;
  for (const Row& row : table) {
    const std::string target = folder_ + "/layer" + std::to_string(number++);
    fs::create_directories(target + "/r");
    LayerIntake intake(target, {});
    const auto unpacked = [&]() -> Result<void> {
      TRY(intake.feed(layer(row.rows)));
      TRY(intake.finish());
      return {};
    }();
    if (*row.problem == '\0') {
      EXPECT_TRUE(unpacked) << row.sentence << ": " << unpacked.error().message;
    } else {
      ASSERT_FALSE(unpacked) << row.sentence;
      EXPECT_NE(unpacked.error().message.find(row.problem), std::string::npos)
          << row.sentence << ": " << unpacked.error().message;
    }
    EXPECT_EQ(read(outside + "/secret"), "kept") << row.sentence;
    EXPECT_FALSE(fs::exists(target + "/r/dev/sda")) << row.sentence;
  }
}

TEST_F(StoreTest, BombsAreStopped) {
  const auto unpack = [&](const std::string& bytes, const UnpackLimits& limits) {
    fs::create_directories(folder_ + "/b/r");
    LayerIntake intake(folder_ + "/b", limits);
    auto fed = intake.feed(bytes);
    const std::string problem = fed ? "" : fed.error().message;
    (void)remove_tree(folder_ + "/b");
    return problem;
  };
  std::vector<LayerRow> many;
  for (int i = 0; i < 100; ++i)
    many.push_back({"f" + std::to_string(i), '0', ""});
  EXPECT_NE(unpack(layer(many), {.entries = 50}).find("more than 50 entries"), std::string::npos);
  EXPECT_NE(unpack(gzipped(layer({{"zeros", '0', std::string(8 << 20, '\0')}})), {.bytes = 4 << 20})
                .find("more than 4 MiB"),
            std::string::npos);
  EXPECT_EQ(unpack(layer(many), {}), "");
}

TEST_F(StoreTest, WhiteoutsBecomeMarksOfOverlayfs) {
  fs::create_directories(folder_ + "/l/r");
  LayerIntake intake(folder_ + "/l", {});
  ASSERT_TRUE(intake.feed(layer({{"a", '5', ""},
                                 {"a/.wh.gone", '0', ""},
                                 {"b", '5', ""},
                                 {"b/.wh..wh..opq", '0', ""},
                                 {".wh.kept", '0', ""},
                                 {"kept", '0', "new"}})));
  ASSERT_TRUE(intake.finish());
  struct stat facts {};
  ASSERT_EQ(::lstat((folder_ + "/l/r/a/gone").c_str(), &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode) && facts.st_rdev == 0);
  EXPECT_EQ(read(folder_ + "/l/r/kept"), "new");
  // And back: what `save` writes has them as layers do.
  std::string stream;
  TarWriter writer([&](std::string_view bytes) -> Result<void> {
    stream.append(bytes);
    return {};
  });
  ASSERT_TRUE(write_folder(writer, folder_ + "/l/r"));
  EXPECT_NE(stream.find("a/.wh.gone"), std::string::npos);
  EXPECT_NE(stream.find("b/.wh..wh..opq"), std::string::npos);
}

TEST_F(StoreTest, ImportedFoldersSaveAndLoadAgain) {
  write("tree/bin/hello", "#!/bin/sh\n");
  write("tree/data/big", std::string(3'000'000, 'z'));
  fs::create_symlink("/bin/hello", folder_ + "/tree/link");
  ImageStore images = store();
  ImportOptions options;
  options.name = "mine:1";
  options.config.entrypoint = {"/bin/hello"};
  options.config.env = {"A=b"};
  const auto made = import_folder(images, folder_ + "/tree", options);
  ASSERT_TRUE(made) << made.error().message;
  {
    std::ofstream out(folder_ + "/mine.tar");
    ASSERT_TRUE(save_image(images, *made, [&](std::string_view bytes) -> Result<void> {
      out << bytes;
      return {};
    }));
  }
  ASSERT_TRUE(images.remove_name("mine:1"));
  ASSERT_TRUE(images.collect({}));
  EXPECT_TRUE(fs::is_empty(images.folder() + "/layers"));
  auto archived = read_archive(folder_ + "/mine.tar", folder_);
  ASSERT_TRUE(archived) << archived.error().message;
  ASSERT_EQ(archived->size(), 1u);
  EXPECT_EQ(archived->at(0).names, std::vector<std::string>{"mine:1"});
  const auto taken = take_image(images, archived->at(0).image, {.name = "mine:1"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->config.entrypoint, options.config.entrypoint);
  const std::string root = images.layer_folder(taken->config.diff_ids[0]);
  EXPECT_EQ(read(root + "/data/big").size(), 3'000'000u);
  EXPECT_EQ(fs::read_symlink(root + "/link"), "/bin/hello");
}

TEST_F(StoreTest, CollectionSparesWhatIsNamedOrInUse) {
  ImageStore images = store();
  const std::string one = layer({{"one", '0', "1"}}), two = layer({{"two", '0', "2"}}),
                    three = layer({{"three", '0', "3"}});
  ASSERT_TRUE(take_image(images, incoming({one, two}, {one, two}), {.name = "a"}));
  ASSERT_TRUE(take_image(images, incoming({two, three}, {two, three}), {.name = "b"}));
  ASSERT_TRUE(images.remove_name("b"));
  const std::string third = layer_id("sha256:" + sha256_hex(three));
  const auto spared = images.collect({third});
  ASSERT_TRUE(spared);
  EXPECT_EQ(spared->layers, 0);
  const auto collected = images.collect({});
  ASSERT_TRUE(collected);
  EXPECT_EQ(collected->layers, 1);
  EXPECT_TRUE(images.has_layer("sha256:" + sha256_hex(two)));
}

TEST_F(StoreTest, RecoveryRemovesWhatTheDeadLeft) {
  ImageStore images = store();
  auto intake = images.begin_layer({});
  ASSERT_TRUE(intake);
  ASSERT_TRUE((*intake)->feed(layer({{"half", '0', "x"}})));
  write("images/names/x.json.AbCdEf", "{");
  {
    const auto working = images.lock_shared();
    ASSERT_TRUE(images.recover());
    EXPECT_FALSE(fs::is_empty(images.folder() + "/staging"))
        << "somebody works: nothing is touched";
  }
  ASSERT_TRUE(images.recover());
  EXPECT_TRUE(fs::is_empty(images.folder() + "/staging"));
  EXPECT_TRUE(fs::is_empty(images.folder() + "/names"));
}

TEST(ImageNames, HaveOneFullForm) {
  struct Row {
    const char* written;
    const char* full;
  };
  const Row rows[] = {
      {"busybox", "busybox:latest"},
      {"docker.io/library/busybox", "busybox:latest"},
      {"docker.io/me/tool:1", "me/tool:1"},
      {"library/x/y", "library/x/y:latest"},
      {"localhost:5000/x", "localhost:5000/x:latest"},
      {"localhost:5000/x:2", "localhost:5000/x:2"},
      {"x@sha256:00", "x@sha256:00"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(full_image_name(row.written), row.full) << row.written;
}

TEST(LowerFolders, AreUppermostFirstAndNoneTwice) {
  const auto id = [](char digit) { return "sha256:" + std::string(64, digit); };
  EXPECT_EQ(lower_folders({id('1'), id('2'), id('1')}),
            (std::vector<std::string>{std::string(16, '1') + "/r", std::string(16, '2') + "/r"}));
}

}  // namespace
}  // namespace yard
