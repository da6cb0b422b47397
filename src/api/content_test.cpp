#include "api/content.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace yard {
namespace {

ObjectPtr encoded(std::string_view json) {
  return Object::encode(parse_json(json)->value, {}, "[]");
}

TEST(Content, IsWhatStandsBehindMetadata) {
  const ObjectPtr job = encoded(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","annotations":{"note":"b"}},
          "spec":{"suspend":true},"status":{}})");
  EXPECT_EQ(content(*job), R"(,"spec":{"suspend":true},"status":{}})");
  EXPECT_TRUE(content_has(*job, R"("suspend":true)"));
  EXPECT_FALSE(content_has(*job, R"("note")")) << "an annotation is no content";
  EXPECT_EQ(content(*Object::with_revision(*job, 42)), content(*job));
}

TEST(Content, IsNothingWhereThereIsOnlyMetadata) {
  EXPECT_EQ(content(*encoded(R"({"apiVersion":"v1","kind":"Thing"})")), "}");
}

TEST(Content, HasTheTextOfOneField) {
  struct Row {
    const char* claim;
    const char* members;
    const char* text;
  };
  const Row rows[] = {
      {"the first of the spec", R"("spec":{"managedBy":"me","suspend":true})", "me"},
      {"the last of the spec", R"("spec":{"list":[{"a":1},{}],"managedBy":"me"})", "me"},
      {"behind another member", R"("data":{"a":"}"},"spec":{"managedBy":"me"})", "me"},
      {"a label deeper down does not count",
       R"("spec":{"template":{"metadata":{"labels":{"managedBy":"you"}}}})", ""},
      {"nor does it hide the field",
       R"("spec":{"template":{"labels":{"managedBy":"you"}},"managedBy":"me"})", "me"},
      {"another member's field does not count", R"("status":{"managedBy":"you"},"spec":{})", ""},
      {"a name with a quotation mark is another", R"("spec":{"\"managedBy":"you","a":"\\"})", ""},
      {"brackets in texts do not count", R"("spec":{"a":"{[\"{","managedBy":"me"})", "me"},
      {"a number is no text", R"("spec":{"managedBy":1})", ""},
      {"nothing there", R"("spec":{"suspend":true})", ""},
  };
  for (const Row& row : rows) {
    const ObjectPtr object = encoded(fmt::format(
        R"({{"apiVersion":"v1","kind":"Thing","metadata":{{"name":"a"}},{}}})", row.members));
    EXPECT_EQ(text_in_content(content(*object), "spec", "managedBy"), row.text) << row.claim;
  }
}

}  // namespace
}  // namespace yard
