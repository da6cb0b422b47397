#include "json/json.h"

#include <gtest/gtest.h>

namespace yard {
namespace {
TEST(Json, ParseSmoke) {
  auto parsed = parse_json(R"({"a":[1,2.5,{"b":"c"}],"a":null})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(to_text(parsed->value), R"({"a":null})");
  EXPECT_EQ(parsed->duplicate_fields, std::vector<std::string>{"a"});
}
}  // namespace
}  // namespace yard
