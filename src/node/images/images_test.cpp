#include <gtest/gtest.h>

#include "json/yaml.h"
#include "node/images/local_images.h"
#include "node/images/resolve_image.h"

namespace yard {
namespace {

Json yaml(std::string_view text) {
  auto parsed = parse_yaml(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed && !parsed->empty() ? parsed->front().parsed.value : Json();
}

ImageConfig config_of(std::string_view text) {
  ImageConfig out;
  const auto problem = read_image_config(yaml(text), {"/home/me", "me"}, out);
  EXPECT_FALSE(problem.has_value()) << (problem ? problem->words : "");
  return out;
}

constexpr const char* kConfig = R"(
map:
  $USER/my-ml-job:*: {python: ~/venv}
  pytorch/*: {root: /srv/torch}
  pytorch/pytorch: host
  pytorch/pytorch:2.1: {root: /srv/torch21, entrypoint: [python]}
  tool:latest: {host: true}
)";

TEST(Images, TheRungAnImageIsTakenFrom) {
  const ImageConfig lenient = config_of(kConfig);
  ImageConfig strict = lenient;
  strict.fallback = ImageFallback::Refuse;
  ImageEntry offer;
  offer.base = ImageEntry::Base::Python;
  offer.folder = "/home/me/.venv";
  struct Case {
    const char* about;
    ImageRequest request;
    const ImageConfig& config;
    const char *id, *reason;
  };
  const Case cases[] = {
      {"a pattern with the user's name",
       {"me/my-ml-job:v3", "Always"},
       strict,
       "map:///home/me/venv",
       ""},
      {"the most exact pattern wins",
       {"pytorch/pytorch:2.1", "Always"},
       strict,
       "map:///srv/torch21",
       ""},
      {"no tag in the pattern: any tag",
       {"pytorch/pytorch:1.0", ""},
       strict,
       "map://pytorch/pytorch",
       ""},
      {"a star stands for anything", {"pytorch/vision", ""}, strict, "map:///srv/torch", ""},
      {"an image without a tag is the latest", {"tool", ""}, strict, "map://tool:latest", ""},
      {"another tag is another image", {"tool:1", "Always"}, strict, "", "ErrImagePull"},
      {"a mapped image is there, whatever the policy",
       {"pytorch/vision", "Never"},
       strict,
       "map:///srv/torch",
       ""},
      {"the host stands in for the rest",
       {"busybox", "IfNotPresent"},
       lenient,
       "host://busybox",
       ""},
      {"which may not be looked for", {"busybox", "Never"}, lenient, "", "ErrImageNeverPull"},
      {"nor if nothing stands in", {"busybox", "Never"}, strict, "", "ErrImageNeverPull"},
      {"refused", {"busybox", "Always"}, strict, "", "ErrImagePull"},
      {"an offer is for what is not mapped",
       {"busybox", "Always", &offer},
       lenient,
       "host://busybox",
       ""},
      {"not for what is", {"pytorch/vision", "", &offer}, lenient, "map:///srv/torch", ""},
      {"nor against the owner's word", {"busybox", "Always", &offer}, strict, "", "ErrImagePull"},
      {"a name that is none", {"Busybox", "Always"}, lenient, "", "InvalidImageName"},
  };
  for (const Case& each : cases) {
    const ImageResolution got = resolve_image(each.request, each.config);
    EXPECT_EQ(got.reason, each.reason) << each.about;
    if (!got.is_refused()) {
      EXPECT_EQ(image_id(each.request.image, got), each.id) << each.about;
    } else {
      EXPECT_FALSE(got.message.empty()) << each.about;
    }
  }
}

TEST(Images, PreferSaysWhichRungWins) {
  ImageEntry unpacked;
  unpacked.base = ImageEntry::Base::Layers;
  struct Case {
    const char* about;
    const char* config;
    bool is_present;
    ImageRung rung;
  };
  const Case cases[] = {
      {"a mapped image is mapped", "{map: {i: host}}", true, ImageRung::Map},
      {"unless the image is preferred", "{prefer: image, map: {i: host}}", true,
       ImageRung::Unpacked},
      {"and is here", "{prefer: image, map: {i: host}}", false, ImageRung::Map},
      {"one that is not mapped runs as it is", "{}", true, ImageRung::Unpacked},
      {"but not where the host is preferred", "{prefer: host}", true, ImageRung::Host},
      {"which leaves the map as it was", "{prefer: host, map: {i: host}}", true, ImageRung::Map},
      {"nothing is here: the host", "{prefer: image}", false, ImageRung::Host},
  };
  for (const Case& each : cases) {
    const ImageResolution got =
        resolve_image({"i", "IfNotPresent"}, config_of(each.config),
                      [&](std::string_view) { return each.is_present ? &unpacked : nullptr; });
    EXPECT_EQ(got.rung, each.rung) << each.about;
  }
}

TEST(Images, StoresOfOtherToolsAreFoldersOrNone) {
  EXPECT_FALSE(config_of("{}").stores.has_value()) << "where the tools keep them";
  EXPECT_EQ(config_of("{stores: []}").stores, std::vector<std::string>{});
  EXPECT_EQ(config_of("{stores: [~/s, /t/]}").stores,
            (std::vector<std::string>{"/home/me/s", "/t"}));
  for (const char* wrong : {"{stores: /t}", "{stores: [t]}", "{stores: [1]}"}) {
    ImageConfig out;
    EXPECT_TRUE(read_image_config(yaml(wrong), {"/home/me", "me"}, out)) << wrong;
  }
}

TEST(Images, AnUnpackedImageGoesBeforeTheHost) {
  ImageEntry unpacked;
  unpacked.base = ImageEntry::Base::Root;
  unpacked.folder = "/state/images/1";
  const auto find = [&](std::string_view image) {
    return image == "busybox" ? &unpacked : nullptr;
  };
  const ImageResolution got = resolve_image({"busybox", "Never"}, {}, find);
  EXPECT_EQ(got.rung, ImageRung::Unpacked);
  EXPECT_EQ(image_id("busybox", got), "unpacked:///state/images/1");
  EXPECT_EQ(pulled_message("busybox", got),
            "Container image \"busybox\" already present on machine");
}

TEST(Images, Names) {
  struct Case {
    const char* image;
    bool is_valid;
  };
  const Case cases[] = {
      {"busybox", true},
      {"a/b/c_d-e.f:v1.0_x-Y", true},
      {"localhost:5000/a:1", true},
      {"Host.example:5000/a", true},
      {"a@sha256:0123456789012345678901234567890123456789012345678901234567890123", true},
      {"A", false},
      {"a/B", false},
      {"a b", false},
      {"a:", false},
      {"a:-x", false},
      {"a//b", false},
      {"/a", false},
      {"a@", false},
      {"a@sha256:xyz", false},
      {"-a", false},
  };
  for (const Case& each : cases)
    EXPECT_EQ(image_name_problem(each.image).empty(), each.is_valid) << each.image;
}

TEST(Images, TheConfigIsReadOrThePlaceOfTheMistakeIsNamed) {
  struct Case {
    const char* yaml;
    std::vector<std::string> path;
  };
  const Case cases[] = {
      {"fallback: maybe", {"fallback"}},
      {"maps: {}", {"maps"}},
      {"map: {a: {root: relative}}", {"map", "a", "root"}},
      {"map: {a: {root: /x, python: /y}}", {"map", "a"}},
      {"map: {a: {colour: red}}", {"map", "a", "colour"}},
      {"map: {a: {env: {RANK: 1}}}", {"map", "a", "env", "RANK"}},
      {"map: {a: {entrypoint: python}}", {"map", "a", "entrypoint"}},
      {"map: {a: {args: []}}", {"map", "a", "args"}},
      {"map: {a: {mounts: [{target: /x}]}}", {"map", "a", "mounts"}},
      {"map: {a: {mounts: ['/x:/y:rw']}}", {"map", "a", "mounts"}},
      {"map: {a: {host: false}}", {"map", "a", "host"}},
      {"map: {a: 3}", {"map", "a"}},
      {"map: [a]", {"map"}},
      {"host", {}},
  };
  for (const Case& each : cases) {
    ImageConfig out;
    const auto problem = read_image_config(yaml(each.yaml), {"/home/me", "me"}, out);
    ASSERT_TRUE(problem.has_value()) << each.yaml;
    EXPECT_EQ(problem->path, each.path) << each.yaml;
    EXPECT_FALSE(problem->words.empty()) << each.yaml;
  }
  const ImageConfig whole = config_of(
      "map: {a: {root: /x/, env: {A: b}, workingDir: $HOME/w, mounts: ['/d', '~/d:/e:ro', "
      "{source: /f, readOnly: true}], entrypoint: [p], args: [-q, x]}}");
  const ImageEntry& entry = whole.map.at(0).second;
  EXPECT_EQ(
      to_text(to_json(entry)),
      R"({"root":"/x","workingDir":"/home/me/w","mounts":[{"source":"/d","target":"/d","readOnly":false},)"
      R"({"source":"/home/me/d","target":"/e","readOnly":true},{"source":"/f","target":"/f","readOnly":true}],"env":{"A":"b"},"entrypoint":["p"],"args":["-q","x"]})");
  ImageEntry again;
  EXPECT_FALSE(read_image_entry(to_json(entry), {}, again).has_value());
  EXPECT_EQ(to_text(to_json(again)), to_text(to_json(entry)));
}

TEST(Images, WarningsNameTheImagesThatAreNotMapped) {
  const ImageConfig config = config_of("map: {known: host}");
  const auto of = [&](const char* object) { return image_warnings(object, config).size(); };
  EXPECT_EQ(
      of(R"({"spec":{"containers":[{"image":"known:1"},{"image":"x"},{"image":"x"},{"image":"y"}]}})"),
      2u);
  EXPECT_EQ(of(R"({"spec":{"volumes":[{"image":"x"}]}})"), 0u);
  EXPECT_EQ(of(R"({"data":{"job":"{\"containers\":[{\"image\":\"x\"}]}"}})"), 0u);
  EXPECT_EQ(of(R"({"containers":[{"image":"cut)"), 0u);
}

TEST(Images, AnEnvironmentNamesItsInterpreter) {
  EXPECT_EQ(interpreter_folder("home = /usr/bin\nversion = 3.11\n"), "/usr/bin");
  EXPECT_EQ(interpreter_folder("uv = 0.4\nhome=/home/me/.local/share/uv/python/c/bin\r\n"),
            "/home/me/.local/share/uv/python/c/bin");
  EXPECT_EQ(interpreter_folder("homeless = /x\nhome = relative\n"), "");
  EXPECT_EQ(interpreter_folder(""), "");
}

}  // namespace
}  // namespace yard
