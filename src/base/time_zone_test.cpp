#include "base/time_zone.h"

#include <string>

#include <gtest/gtest.h>

namespace yard {
namespace {

std::string big_endian(int64_t value, size_t size) {
  std::string out;
  for (size_t i = size; i-- > 0;)
    out += static_cast<char>(value >> (8 * i));
  return out;
}

// A version 2 file as compilers of zones write them today: one change, the rest by rule.
std::string zone_file(int64_t change_at, const std::string& rule, uint8_t kind = 1) {
  const auto header = [](int times, int types) {
    std::string out = "TZif2" + std::string(15, '\0');
    for (const int count : {0, 0, 0, times, types, 4})
      out += big_endian(count, 4);
    return out;
  };
  const std::string letters("LMT\0", 4);
  std::string out = header(0, 1) + big_endian(0, 4) + std::string(2, '\0') + letters;
  out += header(1, 2) + big_endian(change_at, 8) + static_cast<char>(kind);
  out += big_endian(600, 4) + std::string(2, '\0') + big_endian(3600, 4) + std::string(2, '\0');
  return out + letters + "\n" + rule + "\n";
}

Time at(const char* text) {
  return *parse_rfc3339(text);
}

TEST(TimeZone, FollowsTheFileAndThenItsRule) {
  const auto zone = TimeZone::parse(
      zone_file(unix_seconds(at("2000-01-01T00:00:00Z")), "CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(zone);
  const struct {
    const char* about;
    const char* time;
    int seconds;
  } cases[] = {
      {"before the first change", "1999-12-31T23:59:59Z", 600},
      {"from the change on", "2000-01-01T00:00:00Z", 3600},
      {"the last second of winter", "2026-03-29T00:59:59Z", 3600},
      {"the first of summer", "2026-03-29T01:00:00Z", 7200},
      {"the last of summer", "2026-10-25T00:59:59Z", 7200},
      {"winter again", "2026-10-25T01:00:00Z", 3600},
      {"far from now", "2077-07-01T00:00:00Z", 7200},
  };
  for (const auto& each : cases)
    EXPECT_EQ(zone->offset_at(at(each.time)).count(), each.seconds) << each.about;
  EXPECT_EQ(zone->next_change_after(at("2026-05-01T00:00:00Z")), at("2026-10-25T01:00:00Z"));
}

TEST(TimeZone, AChangeBeyondAllTimesNeverComes) {
  const auto zone = TimeZone::parse(zone_file(7'363'948'340'704'182'272, "<+01>-1"));
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->next_change_after(at("2026-05-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(zone->offset_at(at("2026-05-01T00:00:00Z")).count(), 600);
}

TEST(TimeZone, RefusesDamagedFiles) {
  const std::string good = zone_file(946684800, "<+01>-1");
  ASSERT_TRUE(TimeZone::parse(good));
  const size_t rule = good.find("\n<+01>");
  for (size_t size = 0; size < rule; ++size)
    EXPECT_FALSE(TimeZone::parse(good.substr(0, size))) << size;
  EXPECT_FALSE(TimeZone::parse(zone_file(946684800, "", 7))) << "a kind of time that is not there";
}

TEST(TimeZone, IsFoundByItsName) {
  ASSERT_NE(find_time_zone("UTC"), nullptr);
  EXPECT_EQ(find_time_zone("UTC")->offset_at(at("2026-07-01T00:00:00Z")).count(), 0);
  for (const char* name : {"", "Mars/Olympus", "../etc/passwd", "/etc/passwd", "Europe", "a//b"})
    EXPECT_EQ(find_time_zone(name), nullptr) << name;
}

}  // namespace
}  // namespace yard
