#include "client/tree_cache.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

ObjectPtr object_named(const std::string& name) {
  return Object::encode(
      JsonObject{{"kind", "Thing"},
                 {"apiVersion", "v1"},
                 {"metadata", JsonObject{{"name", name}, {"uid", "uid-" + name}}}},
      {}, "");
}

const Json* address(const SharedJson& tree) {
  return &*tree;
}

TEST(TreeCache, ReadersShareWhatTheFirstParsed) {
  TreeCache cache;
  const ObjectPtr object = object_named("a");
  EXPECT_FALSE(cache.known(object).has_value());
  const SharedJson first = cache.of(object), second = cache.of(object);
  EXPECT_EQ(address(first), address(second));
  EXPECT_TRUE(cache.known(object).has_value());
  EXPECT_EQ(text_at(first, {"metadata", "name"}), "a");
}

TEST(TreeCache, LetsGoOfTheOneThatWasNotUsedForLongest) {
  TreeCache cache(2);
  const ObjectPtr a = object_named("a"), b = object_named("b"), c = object_named("c");
  cache.of(a);
  cache.of(b);
  cache.of(a);
  cache.of(c);
  EXPECT_TRUE(cache.known(a).has_value());
  EXPECT_FALSE(cache.known(b).has_value());
  EXPECT_TRUE(cache.known(c).has_value());
}

TEST(TreeCache, OfAnObjectOnlyTheVersionReadLastIsKept) {
  TreeCache cache;
  const ObjectPtr first = Object::with_revision(*object_named("a"), 1),
                  second = Object::with_revision(*first, 2);
  cache.of(first);
  EXPECT_EQ(text_at(cache.of(second), {"metadata", "resourceVersion"}), "2");
  EXPECT_FALSE(cache.known(first).has_value());
  EXPECT_TRUE(cache.known(second).has_value());
  EXPECT_EQ(text_at(cache.of(first), {"metadata", "resourceVersion"}), "1");
}

TEST(TreeCache, HoldsNoMoreBytesThanItMay) {
  const ObjectPtr a = object_named("a"), b = object_named("b");
  TreeCache small(512, a->body().size() + 1);
  const SharedJson kept = small.of(a);
  small.of(b);
  EXPECT_FALSE(small.known(a).has_value());
  EXPECT_EQ(text_at(kept, {"metadata", "name"}), "a");  // a reader's tree stays its own
  const ObjectPtr large = object_named(std::string(1000, 'x'));
  EXPECT_EQ(text_at(small.of(large), {"metadata", "name"}).size(), 1000U);
  EXPECT_FALSE(small.known(large).has_value());
  EXPECT_TRUE(small.known(b).has_value());
}

}  // namespace
}  // namespace yard
