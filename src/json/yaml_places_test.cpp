#include "json/yaml_places.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(YamlPlaces, OfKeys) {
  const char* const text =
      "port: 1\n"
      "images:\n"
      "  fallback: host\n"
      "  map:\n"
      "    \"a/b:*\": {root: /x, colour: red}\n"
      "    c:\n"
      "      mounts: [{source: /y}, host]\n"
      "      host: true\n";
  struct Case {
    const char* about;
    std::vector<std::string> path;
    std::optional<YamlPlace> place;
  };
  const Case cases[] = {
      {"a key of the top", {"images"}, YamlPlace{2, 1}},
      {"a key of a flow mapping", {"images", "map", "a/b:*", "colour"}, YamlPlace{5, 25}},
      {"after a sequence", {"images", "map", "c", "host"}, YamlPlace{8, 7}},
      {"the innermost that is there", {"images", "map", "c", "nothing"}, YamlPlace{6, 5}},
      {"a key that is only a value or stands elsewhere", {"host"}, std::nullopt},
      {"no path", {}, std::nullopt},
  };
  for (const Case& each : cases) {
    const auto place = yaml_place(text, each.path);
    ASSERT_EQ(place.has_value(), each.place.has_value()) << each.about;
    if (!place) continue;
    EXPECT_EQ(place->line, each.place->line) << each.about;
    EXPECT_EQ(place->column, each.place->column) << each.about;
  }
}

}  // namespace
}  // namespace yard
