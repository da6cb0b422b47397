#include "images/tar.h"

#include <gtest/gtest.h>

#include "images/write_tar.h"

namespace yard {
namespace {

class Entries : public TarSink {
 public:
  Result<void> begin(const TarEntry& entry) override {
    seen.push_back(entry);
    contents.emplace_back(static_cast<std::size_t>(entry.size), '-');
    return {};
  }
  Result<void> data(std::int64_t offset, std::string_view bytes) override {
    contents.back().replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
    return {};
  }
  Result<void> end() override { return {}; }
  std::vector<TarEntry> seen;
  std::vector<std::string> contents;
};

std::string written(const std::function<Result<void>(TarWriter&)>& write) {
  std::string out;
  TarWriter writer([&](std::string_view bytes) -> Result<void> {
    out.append(bytes);
    return {};
  });
  EXPECT_TRUE(write(writer));
  EXPECT_TRUE(writer.finish());
  return out;
}

Result<void> read_in_pieces(std::string_view stream, std::size_t piece, Entries& entries) {
  TarStream tar(entries);
  for (std::size_t at = 0; at < stream.size(); at += piece)
    TRY(tar.feed(stream.substr(at, piece)));
  return tar.finish();
}

TEST(Tar, ReadsWhatItWroteInPiecesOfAnySize) {
  const std::string long_path = std::string(150, 'd') + "/" + std::string(90, 'f');
  const std::string stream = written([&](TarWriter& writer) -> Result<void> {
    TRY(writer.file("a", "hello"));
    TRY(writer.file(long_path, std::string(1000, 'x')));
    TarEntry link;
    link.type = '2';
    link.path = "l";
    link.link = std::string(200, 't');
    link.uid = 3'000'000;
    link.attributes = {{"user.k", std::string("a\nb\0c", 5)}};
    return writer.entry(link);
  });
  for (const std::size_t piece : {1, 7, 512, 4096, 100'000}) {
    Entries entries;
    const auto read = read_in_pieces(stream, piece, entries);
    ASSERT_TRUE(read) << piece << ": " << read.error().message;
    ASSERT_EQ(entries.seen.size(), 3u) << piece;
    EXPECT_EQ(entries.contents[0], "hello");
    EXPECT_EQ(entries.seen[1].path, long_path);
    EXPECT_EQ(entries.contents[1], std::string(1000, 'x'));
    EXPECT_EQ(entries.seen[2].link, std::string(200, 't'));
    EXPECT_EQ(entries.seen[2].uid, 3'000'000);
    EXPECT_EQ(entries.seen[2].attributes.at(0).second, std::string("a\nb\0c", 5));
  }
}

// A header as GNU tar writes it, with the sum filled in.
std::string gnu_header(std::string_view path, char type, std::size_t size,
                       const std::function<void(std::string&)>& change = {}) {
  std::string block(kTarBlock, '\0');
  block.replace(0, path.size(), path);
  block.replace(100, 7, "0000644");
  const auto octal = [&](std::size_t at, std::size_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "%011zo", value);
    block.replace(at, 11, text, 11);
  };
  octal(124, size);
  octal(136, 0);
  block[156] = type;
  block.replace(257, 8, std::string_view("ustar  \0", 8));
  if (change) change(block);
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char each : block)
    sum += static_cast<unsigned char>(each);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 7, std::string_view(text, 7));
  return block;
}

std::string padded(std::string text) {
  text.resize((text.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  return text;
}

TEST(Tar, ReadsTheFormsOfOtherTools) {
  struct Row {
    const char* sentence;
    std::string stream;
    std::string path, content;
  };
  const std::string name(300, 'n');
  const auto sparse_fields = [](std::string& block) {
    block.replace(386, 11, "00000000002");  // offset 2
    block.replace(398, 11, "00000000003");  // 3 bytes
    block.replace(410, 11, "00000000007");
    block.replace(422, 11, "00000000001");
    block.replace(483, 11, "00000000011");  // 9 in all
  };
  const std::string map_first = padded("2\n2\n3\n7\n1\n");
  const std::string pax =
      "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
      "21 GNU.sparse.name=s\n25 GNU.sparse.realsize=9\n";
  const std::string pax_old = "27 GNU.sparse.map=2,3,7,1,\n21 GNU.sparse.size=9\n";
  const Row rows[] = {
      {"GNU's long name",
       gnu_header("././@LongLink", 'L', 301) + padded(name + '\0') + gnu_header("cut", '0', 2) +
           padded("hi"),
       name, "hi"},
      {"the old sparse form", gnu_header("s", 'S', 4, sparse_fields) + padded("abcd"), "s",
       "--abc--d-"},
      {"sparse with the map in front of the data",
       gnu_header("x", 'x', pax.size()) + padded(pax) + gnu_header("GNUSparseFile/s", '0', 516) +
           map_first + padded("abcd"),
       "s", "--abc--d-"},
      {"sparse with the map in the header",
       gnu_header("x", 'x', pax_old.size()) + padded(pax_old) + gnu_header("s", '0', 4) +
           padded("abcd"),
       "s", "--abc--d-"},
      {"a stream without its end", gnu_header("f", '0', 3) + padded("abc"), "f", "abc"},
      {"a size as a binary number",
       gnu_header("f", '0', 0,
                  [](std::string& block) {
                    block.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12));
                  }) +
           padded("abc"),
       "f", "abc"},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {1, 100'000}) {
      Entries entries;
      const auto read = read_in_pieces(row.stream, piece, entries);
      ASSERT_TRUE(read) << row.sentence << ": " << read.error().message;
      ASSERT_EQ(entries.seen.size(), 1u) << row.sentence;
      EXPECT_EQ(entries.seen[0].path, row.path) << row.sentence;
      EXPECT_EQ(entries.contents[0], row.content) << row.sentence;
    }
  }
}

TEST(Tar, RefusesWhatIsDamaged) {
  struct Row {
    const char* sentence;
    std::string stream;
  };
  std::string wrong_sum = gnu_header("f", '0', 0);
  wrong_sum[0] = 'g';
  const std::string bad_pax = "99 path=a\n";
  const Row rows[] = {
      {"not a tar at all", std::string(600, 'x')},
      {"a wrong sum", wrong_sum},
      {"cut within the header", gnu_header("f", '0', 0).substr(0, 300)},
      {"cut within the data", gnu_header("f", '0', 900) + std::string(512, 'x')},
      {"a record longer than its header",
       gnu_header("x", 'x', bad_pax.size()) + padded(bad_pax) + gnu_header("f", '0', 0)},
      {"an extended header of 2 MiB", gnu_header("x", 'x', 2 << 20)},
      {"a file of an exabyte",
       gnu_header("f", '0', 0,
                  [](std::string& block) {
                    block.replace(124, 12, std::string("\x80\0\0\0\x10\0\0\0\0\0\0\0", 12));
                  })},
      {"sparse pieces that overlap", gnu_header("s", 'S', 4,
                                                [](std::string& block) {
                                                  block.replace(386, 11, "00000000004");
                                                  block.replace(398, 11, "00000000003");
                                                  block.replace(410, 11, "00000000002");
                                                  block.replace(422, 11, "00000000001");
                                                  block.replace(483, 11, "00000000011");
                                                }) +
                                         padded("abcd")},
  };
  for (const Row& row : rows) {
    Entries entries;
    EXPECT_FALSE(read_in_pieces(row.stream, 100'000, entries)) << row.sentence;
  }
}

TEST(Tar, MayBeFilledUpButNotWithoutAnEnd) {
  const std::string stream = gnu_header("f", '0', 0) + std::string(1024, '\0');
  Entries entries;
  EXPECT_TRUE(read_in_pieces(stream + std::string(1 << 20, '\0'), 100'000, entries));
  EXPECT_FALSE(read_in_pieces(stream + std::string(20 << 20, '\0'), 100'000, entries));
}

}  // namespace
}  // namespace yard
