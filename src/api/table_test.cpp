#include "api/table.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

std::string rendered(const std::string& cells, int64_t now) {
  std::string out;
  append_rendered_cells(out, cells, from_unix_seconds(now));
  return out;
}

TEST(Table, AgesAreRenderedAsPeopleReadThem) {
  constexpr int64_t kHour = 3600, kDay = 24 * kHour;
  struct Case {
    int64_t seconds;
    const char* text;
  };
  const Case cases[] = {
      {-2, "<invalid>"},
      {-1, "0s"},
      {0, "0s"},
      {119, "119s"},
      {120, "2m"},
      {125, "2m5s"},
      {599, "9m59s"},
      {600, "10m"},
      {10799, "179m"},
      {10800, "3h"},
      {11100, "3h5m"},
      {28799, "7h59m"},
      {28800, "8h"},
      {48 * kHour - 60, "47h"},
      {48 * kHour, "2d"},
      {49 * kHour, "2d1h"},
      {191 * kHour, "7d23h"},
      {192 * kHour, "8d"},
      {729 * kDay, "729d"},
      {730 * kDay, "2y"},
      {731 * kDay, "2y1d"},
  };
  for (const Case& c : cases) {
    std::string cells = RowWriter().age(from_unix_seconds(1'000'000'000)).finish();
    EXPECT_EQ(rendered(cells, 1'000'000'000 + c.seconds), "[\"" + std::string(c.text) + "\"]");
  }
}

TEST(Table, ARowIsAJsonArrayOfItsCells) {
  RowWriter row;
  row.text("a\"b").number(-3).boolean(true).null().json(JsonArray{1, "x"}).age(std::nullopt);
  row.text_with_age("3 (", from_unix_seconds(100), " ago)");
  EXPECT_EQ(rendered(row.finish(), 112),
            R"row(["a\"b",-3,true,null,[1,"x"],"<unknown>","3 (12s ago)"])row");
}

TEST(Table, AnEmptyRowIsAnEmptyArray) {
  EXPECT_EQ(RowWriter().finish(), "[]");
}

TEST(Table, ATextCannotFakeAnAge) {
  std::string cells = RowWriter()
                          .text(
                              "\x01"
                              "0\x02")
                          .finish();
  EXPECT_EQ(rendered(cells, 50), cells);
  EXPECT_EQ(cells.find('\x01'), std::string::npos);
}

TEST(Table, RenderingAppends) {
  std::string out = "cells:";
  append_rendered_cells(out, RowWriter().age(from_unix_seconds(0)).finish(), from_unix_seconds(5));
  EXPECT_EQ(out, "cells:[\"5s\"]");
}

TEST(Table, AMarkWithoutAnEndIsLeftAsItIs) {
  EXPECT_EQ(rendered("[\"\x01"
                     "12",
                     50),
            "[\"\x01"
            "12");
}

}  // namespace
}  // namespace yard
