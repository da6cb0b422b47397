#include "images/manifest.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string manifest_text(std::string_view layer_digest, std::string_view size) {
  return R"({"schemaVersion":2,"config":{"mediaType":"c","digest":")" + kDigest +
         R"(","size":7},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":")" +
         std::string(layer_digest) + R"(","size":)" + std::string(size) + "}]}";
}

TEST(Manifest, IsReadOrRefusedWithAReason) {
  struct Row {
    const char* sentence;
    std::string bytes;
    const char* problem;  // a part of the message; "" when it is read
  };
  const Row rows[] = {
      {"a good one", manifest_text(kDigest, "12"), ""},
      {"not JSON", "{", "is not JSON"},
      {"a list", "[]", "not a JSON object"},
      {"schema 1", R"({"schemaVersion":1})", "schemaVersion 1"},
      {"no config", R"({"schemaVersion":2})", "names no config"},
      {"a digest that leads out of the folder", manifest_text("sha256:../../etc", "1"), "digest"},
      {"a digest of another sort", manifest_text("sha512:00", "1"), "digest"},
      {"capitals in a digest", manifest_text("sha256:" + std::string(64, 'A'), "1"), "digest"},
      {"a negative size", manifest_text(kDigest, "-1"), "size"},
      {"a size of petabytes", manifest_text(kDigest, "9000000000000000000"), "size"},
      {"layers that are no list",
       R"({"schemaVersion":2,"config":{"digest":")" + kDigest + R"(","size":1},"layers":{}})",
       "layers is not a list"},
  };
  for (const Row& row : rows) {
    const auto read = parse_manifest(row.bytes);
    if (*row.problem == '\0') {
      ASSERT_TRUE(read) << row.sentence << ": " << read.error().message;
      EXPECT_EQ(read->layers.at(0).size, 12) << row.sentence;
    } else {
      ASSERT_FALSE(read) << row.sentence;
      EXPECT_NE(read.error().message.find(row.problem), std::string::npos)
          << row.sentence << ": " << read.error().message;
    }
  }
}

TEST(Manifest, SurvivesItsOwnEncoding) {
  const ImageManifest before{{std::string(media_types::kOciConfig), kDigest, 3},
                             {{std::string(media_types::kOciLayer), kDigest, 4}}};
  const auto after = parse_manifest(encode(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->config.size, 3);
  EXPECT_EQ(after->layers.at(0).media_type, media_types::kOciLayer);
  EXPECT_EQ(manifest_type(encode(before)), media_types::kOciManifest);
}

TEST(Manifest, PackingFollowsTheMediaType) {
  struct Row {
    const char* media_type;
    int packing;  // -1: refused
  };
  const Row rows[] = {
      {"application/vnd.oci.image.layer.v1.tar", 0},
      {"application/vnd.oci.image.layer.v1.tar+gzip", 1},
      {"application/vnd.oci.image.layer.v1.tar+zstd", 2},
      {"application/vnd.docker.image.rootfs.diff.tar.gzip", 1},
      {"application/vnd.docker.image.rootfs.diff.tar", 0},
      {"application/vnd.oci.image.layer.v1.tar+xz", -1},
      {"text/html", -1},
      {"", -1},
  };
  for (const Row& row : rows) {
    const auto packing = layer_packing(row.media_type);
    EXPECT_EQ(packing ? static_cast<int>(*packing) : -1, row.packing) << row.media_type;
  }
}

TEST(ImageIndex, GivesTheEntryOfThisPlatform) {
  const auto entry = [](std::string os, std::string architecture, char digit) {
    return IndexEntry{{"m", "sha256:" + std::string(64, digit), 1},
                      {std::move(os), std::move(architecture), ""},
                      {}};
  };
  struct Row {
    const char* sentence;
    ImageIndex index;
    char chosen;  // 0: none
  };
  const Row rows[] = {
      {"the second of two", {{entry("linux", "arm64", '1'), entry("linux", "amd64", '2')}}, '2'},
      {"attestations are passed over",
       {{entry("unknown", "unknown", '1'), entry("linux", "amd64", '2')}},
       '2'},
      {"a single entry without a platform is taken", {{entry("", "", '1')}}, '1'},
      {"a single entry of another platform is not", {{entry("linux", "s390x", '1')}}, 0},
      {"an empty index has none", {}, 0},
  };
  for (const Row& row : rows) {
    const auto chosen = choose_platform(row.index, {"linux", "amd64", ""});
    if (row.chosen == 0) {
      EXPECT_FALSE(chosen) << row.sentence;
    } else {
      ASSERT_TRUE(chosen) << row.sentence;
      EXPECT_EQ(chosen->digest.back(), row.chosen) << row.sentence;
    }
  }
}

TEST(ImageConfigFile, IsReadAndBounded) {
  const auto read = parse_config_file(
      R"({"os":"linux","architecture":"amd64","config":{"Env":["A=b"],"Entrypoint":["/e"],"Cmd":null,)"
      R"("WorkingDir":"/w","User":"app:grp","StopSignal":"SIGINT","Volumes":{"/data":{}},"Labels":{"k":"v"}},)"
      R"("rootfs":{"type":"layers","diff_ids":[")" +
      kDigest + R"("]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->env, std::vector<std::string>{"A=b"});
  EXPECT_EQ(read->entrypoint, std::vector<std::string>{"/e"});
  EXPECT_TRUE(read->command.empty());
  EXPECT_EQ(read->user, "app:grp");
  EXPECT_EQ(read->volumes, std::vector<std::string>{"/data"});
  EXPECT_EQ(read->labels.at("k"), "v");
  EXPECT_EQ(read->diff_ids.size(), 1u);
  EXPECT_FALSE(parse_config_file(R"({"rootfs":{"diff_ids":["sha256:.."]}})"));
  EXPECT_FALSE(parse_config_file(R"({"config":{"Env":[1]}})"));
  EXPECT_FALSE(parse_config_file(std::string(kMostConfigFileBytes + 1, ' ')));
}

}  // namespace
}  // namespace yard
