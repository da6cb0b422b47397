#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/result.h"
#include "base/strings.h"
#include "base/time.h"
#include "testing/sim_loop.h"

namespace yard {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(Time, ReadsAndWritesWhatKubernetesWrites) {
  const auto time = parse_rfc3339("2026-11-15T06:05:54.123456789Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(rfc3339(*time), "2026-11-15T06:05:54Z");
  EXPECT_EQ(rfc3339_micro(*time), "2026-11-15T06:05:54.123456Z");
  EXPECT_EQ(rfc3339_nano(*time), "2026-11-15T06:05:54.123456789Z");
  EXPECT_EQ(rfc3339_nano(from_unix_seconds(0)), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(rfc3339_micro(from_unix_seconds(-1)), "1969-12-31T23:59:59.000000Z");
  EXPECT_EQ(parse_rfc3339("2026-11-15T08:05:54+02:00"), parse_rfc3339("2026-11-15T06:05:54Z"));
  for (const char* bad :
       {"", "2026", "2026-11-15", "2026-13-15T06:05:54Z", "2026-02-30T06:05:54Z",
        "2026-11-15T24:05:54Z", "2026-11-15T06:05:54", "2026-11-15T06:05:54.Z",
        "2026-11-15T06:05:54Zx", "0001-01-01T00:00:00Z", "2026-11-15T06:05:54+2:00"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(Time, HumanDurationsFollowTheVectorsOfPartF1) {
  const struct {
    Duration length;
    const char* text;
  } rows[] = {
      {seconds(-5), "<invalid>"}, {seconds(-1), "0s"},      {seconds(0), "0s"},
      {seconds(119), "119s"},     {seconds(120), "2m"},     {seconds(125), "2m5s"},
      {seconds(599), "9m59s"},    {seconds(600), "10m"},    {seconds(10799), "179m"},
      {seconds(10800), "3h"},     {seconds(11100), "3h5m"}, {seconds(28799), "7h59m"},
      {seconds(28800), "8h"},     {hours(47), "47h"},       {hours(48), "2d"},
      {hours(49), "2d1h"},        {hours(191), "7d23h"},    {hours(192), "8d"},
      {hours(729 * 24), "729d"},  {hours(730 * 24), "2y"},  {hours(731 * 24), "2y1d"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(human_duration(row.length), row.text);
}

TEST(Time, GoDurations) {
  EXPECT_EQ(parse_go_duration("5m13s"), seconds(313));
  EXPECT_EQ(parse_go_duration("1.5h"), std::chrono::minutes(90));
  EXPECT_EQ(parse_go_duration("-300ms"), std::chrono::milliseconds(-300));
  EXPECT_EQ(parse_go_duration("0"), seconds(0));
  for (const char* bad : {"", "abc", "5", "5x", "h", "1..5s", "-"})
    EXPECT_FALSE(parse_go_duration(bad)) << bad;
}

TEST(Strings, Base64) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"}) {
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
    EXPECT_EQ(base64url_decode(base64url_encode(text)), text);
  }
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64url_encode("\xff\xfe"), "__4");
  for (const char* bad : {"Zm8", "Zm8*", "=", "Z==="})
    EXPECT_FALSE(base64_decode(bad)) << bad;
}

TEST(Strings, QuotesAsGoDoes) {
  EXPECT_EQ(quoted(std::string_view("a\"b\\c\n\x01\xff 한")), "\"a\\\"b\\\\c\\n\\x01\\xff 한\"");
}

TEST(Strings, WidthOnATerminal) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("학습"), 4);
  EXPECT_EQ(display_width("训练a"), 5);
  EXPECT_EQ(display_width("e\u0301"), 1);
}

TEST(Strings, Utf8) {
  EXPECT_TRUE(is_valid_utf8("plain 한국어 \xf0\x9f\x9a\x82"));
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
  }
}

TEST(Strings, WholeNumbersOnly) {
  EXPECT_EQ(parse_int64("-12"), -12);
  EXPECT_EQ(parse_uint64("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "1x", " 1", "99999999999999999999999", "-"})
    EXPECT_FALSE(parse_int64(bad)) << bad;
}

TEST(Random, UuidsAreVersionFourAndDiffer) {
  Random random(7);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = random.uuid();
    ASSERT_EQ(uuid.size(), 36u);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_TRUE(std::string_view("89ab").find(uuid[19]) != std::string_view::npos);
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

Result<int> half(int number) {
  if (number % 2 != 0) return error(Reason::Invalid, "odd");
  return number / 2;
}
Result<int> quarter(int number) {
  const int once = TRY(half(number));
  return half(once);
}

TEST(Result, TryHandsErrorsUp) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(http_code(quarter(6).error().reason), 422);
}

TEST(SimLoop, PostsKeepOrderAndTimersFireInTime) {
  SimLoop loop;
  std::string order;
  loop.after(seconds(2), [&] { order += "c"; });
  loop.after(seconds(1), [&] { order += "b"; });
  const TimerId cancelled = loop.after(seconds(1), [&] { order += "x"; });
  loop.post([&] { order += "a"; });
  loop.cancel(cancelled);
  loop.advance(seconds(3));
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace yard
