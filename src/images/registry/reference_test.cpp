#include "images/registry/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace yard {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(Reference, IsReadAsTheToolsReadIt) {
  const std::string older = default_registry_login();
  const struct {
    std::string text, registry, repository, tag, digest;
  } cases[] = {
      {"busybox", "docker.io", "library/busybox", "", ""},
      {"busybox:1.36", "docker.io", "library/busybox", "1.36", ""},
      {"team/model", "docker.io", "team/model", "", ""},
      {"docker.io/busybox", "docker.io", "library/busybox", "", ""},
      {older + "/busybox", "docker.io", "library/busybox", "", ""},
      {older + "/team/x", "docker.io", "team/x", "", ""},
      {"localhost/x", "localhost", "x", "", ""},
      {"localhost:5000/x:1", "localhost:5000", "x", "1", ""},
      {"foo:5000/x", "foo:5000", "x", "", ""},
      {"foo:5000", "docker.io", "library/foo", "5000", ""},
      {"a.b/c/d/e:t", "a.b", "c/d/e", "t", ""},
      {"UPPER/x", "UPPER", "x", "", ""},
      {"[::1]:5000/x:t", "[::1]:5000", "x", "t", ""},
      {"[2001:db8::1]/x", "[2001:db8::1]", "x", "", ""},
      {"127.0.0.1:5000/x", "127.0.0.1:5000", "x", "", ""},
      {"x@" + kDigest, "docker.io", "library/x", "", kDigest},
      {"r.io/x:t@" + kDigest, "r.io", "x", "t", kDigest},
      {"x@sha512:" + std::string(128, '0'), "docker.io", "library/x", "",
       "sha512:" + std::string(128, '0')},
      {"a__b/c-d/e---f.g_h", "docker.io", "a__b/c-d/e---f.g_h", "", ""},
      {"x:" + std::string(128, 'T'), "docker.io", "library/x", std::string(128, 'T'), ""},
      {"x:_a.b-C", "docker.io", "library/x", "_a.b-C", ""},
      {std::string(63, 'a'), "docker.io", "library/" + std::string(63, 'a'), "", ""},
  };
  for (const auto& each : cases) {
    auto read = parse_reference(each.text);
    ASSERT_TRUE(read) << each.text << ": " << read.error().message;
    EXPECT_EQ(*read, (ImageReference{each.registry, each.repository, each.tag, each.digest}))
        << each.text << " was read as " << read->text();
    auto again = parse_reference(read->text());
    ASSERT_TRUE(again) << read->text();
    EXPECT_EQ(*again, *read) << each.text;
  }
}

TEST(Reference, ThatNamesNoImageIsRefused) {
  const std::string cases[] = {
      "",
      " ",
      "/",
      "a/",
      "/a",
      "a//b",
      ":tag",
      "a:",
      "a:b:c",
      "A",
      "team/Model",
      "a@",
      "a@sha256:12",
      "a@sha256:" + std::string(64, 'A'),
      "a@md5:" + std::string(32, 'a'),
      "a@" + kDigest + "@" + kDigest,
      std::string(64, 'a'),
      "a___b",
      "a..b",
      "a-",
      "-a",
      "_a",
      "a_-b",
      "a b",
      "a\nb",
      "a:.b",
      "a:-b",
      "x:" + std::string(129, 'T'),
      "-r.io/x",
      "r.io-/x",
      "r..io/x",
      "r.io:/x",
      "r.io:5x/x",
      "[::1/x",
      "::1/x",
      "[]/x",
      "[g::1]/x",
      "r.io/" + std::string(256, 'a'),
      "https://r.io/x",
      "a%20b",
      "\xc3\xa4",
      std::string("a\0b", 3),
      std::string(5000, 'a'),
  };
  for (const std::string& text : cases) {
    auto read = parse_reference(text);
    ASSERT_FALSE(read) << text << " was read as " << read->text();
    EXPECT_TRUE(read.error().message.starts_with("invalid reference format")) << text;
  }
}

TEST(Reference, AsksByDigestTagOrLatest) {
  EXPECT_EQ(parse_reference("x")->version(), "latest");
  EXPECT_EQ(parse_reference("x:1")->version(), "1");
  EXPECT_EQ(parse_reference("x:1@" + kDigest)->version(), kDigest);
}

}  // namespace
}  // namespace yard
