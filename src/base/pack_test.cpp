#include "base/pack.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace yard {
namespace {

std::string there_and_back(Packer& packer, std::string_view sample, std::string_view text) {
  const std::string packed(packer.pack(text));
  std::string back(text.size(), '?');
  EXPECT_TRUE(unpack(packed, sample, back.data(), back.size()));
  for (size_t cut = 0; cut < packed.size(); cut += 1 + packed.size() / 50) {
    std::string other(text.size(), '?');
    EXPECT_FALSE(
        unpack(std::string_view(packed).substr(0, cut), sample, other.data(), other.size()))
        << "cut short";
  }
  return back;
}

TEST(Pack, TextsComeBackAsTheyWere) {
  const std::string sample = R"({"kind":"Job","metadata":{"name":"a","labels":{"team":"vision"}}})";
  const std::string texts[] = {
      "",
      "a",
      "abcdefgh",
      std::string(10'000, 'x'),
      sample,
      sample + sample,
      R"({"kind":"Job","metadata":{"name":"b","labels":{"team":"speech"}}})",
      std::string("\0\0\0\xff\0\0", 6),
      sample.substr(20),
      sample.substr(0, 20) + "and another end",
      "another beginning" + sample.substr(30),
  };
  for (const std::string& with : {std::string(), std::string("short"), sample}) {
    Packer packer(with);
    for (const std::string& text : texts)
      EXPECT_EQ(there_and_back(packer, with, text), text);
  }
}

TEST(Pack, RandomTextsComeBackToo) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const uint64_t letters = 1 + random.below(6);
    const auto text = [&](uint64_t most) {
      std::string out;
      for (uint64_t i = random.below(most); i > 0; --i)
        out += static_cast<char>('a' + random.below(letters));
      return out;
    };
    const std::string sample = text(300);
    Packer packer(sample);
    for (int i = 0; i < 5; ++i) {
      const std::string one = text(2000);
      ASSERT_EQ(there_and_back(packer, sample, one), one);
    }
  }
}

TEST(Pack, WhatIsAlikeIsSmallAndWhatIsNotHardlyLonger) {
  Random random(3);
  std::string noise;
  for (int i = 0; i < 5000; ++i)
    noise += static_cast<char>(random.below(256));
  EXPECT_LT(Packer("").pack(noise).size(), noise.size() + 10);
  std::string alike = noise;
  alike[100] ^= 1;
  alike[4000] ^= 1;
  EXPECT_LT(Packer(noise).pack(alike).size(), 30u);
}

TEST(Pack, RefusesOtherBytes) {
  char text[16];
  const std::string refused[] = {
      "",                                          // nothing
      std::string("\x01", 1),                      // a byte that is not there
      std::string("\x7f\x61", 2),                  // more than the text has room for
      std::string("\x00\x04\x01", 3),              // a repetition of what is before the beginning
      std::string("\x00\x04\x00", 3),              // of itself
      std::string("\x01\x61\x7f\x01\x00\x00", 6),  // longer than the text
      std::string("\x01\x61\x00", 3),              // too short a text
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9),
  };
  for (const std::string& bytes : refused)
    EXPECT_FALSE(unpack(bytes, "", text, sizeof text));
}

}  // namespace
}  // namespace yard
