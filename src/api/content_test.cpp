#include "api/content.h"

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

}  // namespace
}  // namespace yard
