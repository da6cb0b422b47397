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

TEST(TreeCache, AVersionThatIsExpectedStandsBesideTheOneThatIsShown) {
  TreeCache cache;
  const ObjectPtr shown = Object::with_revision(*object_named("a"), 1),
                  next = Object::with_revision(*shown, 2), after = Object::with_revision(*shown, 3);
  const SharedJson of_shown = cache.of(shown), of_next(next->tree()), of_after(after->tree());
  cache.expect(next, of_next);
  EXPECT_EQ(address(cache.of(shown)), address(of_shown));
  EXPECT_EQ(address(cache.known(next).value()), address(of_next));
  EXPECT_EQ(address(cache.of(shown)), address(of_shown)) << "only a reader ends the version before";
  EXPECT_EQ(address(cache.of(next)), address(of_next));
  EXPECT_FALSE(cache.known(shown).has_value());
  cache.expect(after, of_after);
  EXPECT_EQ(address(cache.of(next)), address(of_next));
  EXPECT_EQ(address(cache.of(after)), address(of_after));
}

TEST(TreeCache, ExpectedVersionsCountAsTheOthers) {
  const ObjectPtr a = Object::with_revision(*object_named("a"), 1),
                  next = Object::with_revision(*a, 2), b = object_named("b");
  TreeCache small(512, 2 * next->body().size() + 1);
  small.of(b);
  small.of(a);
  small.expect(next, SharedJson(next->tree()));
  EXPECT_FALSE(small.known(b).has_value());
  EXPECT_TRUE(small.known(a).has_value());
  EXPECT_TRUE(small.known(next).has_value());
  TreeCache tiny(512, a->body().size() + 1);
  tiny.of(a);
  tiny.expect(next, SharedJson(next->tree()));
  EXPECT_FALSE(tiny.known(next).has_value()) << "not both: neither stays";
  EXPECT_EQ(text_at(tiny.of(next), {"metadata", "resourceVersion"}), "2");
}

}  // namespace
}  // namespace yard
