#include "node/log_reader.h"

#include <filesystem>
#include <stdlib.h>

#include <gtest/gtest.h>

#include "node/files.h"

namespace yard {
namespace {

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() {
    char name[] = "/tmp/yard-log-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/0.log";
  }
  ~LogReaderTest() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_text(folder_ + "/" + name, text, 0600));
  }
  std::string all(LogReadOptions options) {
    auto reader = LogReader::open(path_, std::move(options));
    if (!reader) return "error: " + reader.error().message;
    return (*reader)->read(1 << 20).bytes;
  }
  std::string folder_, path_;
};

std::string line(int second, const std::string& text, char tag = 'F') {
  return "2026-01-01T00:00:0" + std::to_string(second) + ".000000000Z stdout " + tag + " " + text +
         "\n";
}

TEST_F(LogReaderTest, ShowsTailSinceTimestampsAndLimit) {
  put("0.log.1", line(0, "zero") + line(1, "one"));
  put("0.log", line(2, "tw", 'P') + line(3, "o") + line(4, "three") + line(5, "par", 'P'));
  EXPECT_EQ(all({}), "zero\none\ntwo\nthree\npar");
  EXPECT_EQ(all({.tail_lines = 0}), "");
  EXPECT_EQ(all({.tail_lines = 1}), "par");
  EXPECT_EQ(all({.tail_lines = 2}), "three\npar");
  EXPECT_EQ(all({.tail_lines = 3}), "two\nthree\npar");
  EXPECT_EQ(all({.tail_lines = 4}), "one\ntwo\nthree\npar");
  EXPECT_EQ(all({.tail_lines = 99}), "zero\none\ntwo\nthree\npar");
  EXPECT_EQ(all({.limit_bytes = 7}), "zero\non");
  EXPECT_EQ(all({.since = parse_rfc3339("2026-01-01T00:00:04Z")}), "three\npar");
  EXPECT_EQ(all({.tail_lines = 3, .timestamps = true}),
            "2026-01-01T00:00:02.000000000Z two\n2026-01-01T00:00:04.000000000Z "
            "three\n2026-01-01T00:00:05.000000000Z par");
}

TEST_F(LogReaderTest, FollowsOverARotation) {
  put("0.log", line(1, "one"));
  auto reader = LogReader::open(path_, {});
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->read(1 << 20).bytes, "one\n");
  std::filesystem::rename(path_, path_ + ".1");
  put("0.log", line(2, "two"));
  const LogReader::Piece piece = (*reader)->read(1 << 20);
  EXPECT_EQ(piece.bytes, "two\n");
  EXPECT_TRUE(piece.at_end);
}

TEST_F(LogReaderTest, SaysWhatWasDropped) {
  put("0.log", line(1, "one"));
  auto reader = LogReader::open(path_, {});
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->read(1 << 20).bytes, "one\n");
  put("other", line(7, "seven"));
  std::filesystem::rename(folder_ + "/other", path_);
  EXPECT_EQ((*reader)->read(1 << 20).bytes,
            "[trainyard] older lines of this log were dropped before they could be read\nseven\n");
}

TEST_F(LogReaderTest, WithoutALogThereIsNothing) {
  EXPECT_EQ(all({}), "error: there is no log");
}

}  // namespace
}  // namespace yard
