// CustomResourceDefinitions from their creation to their end: the real store, API server and
// controller on a simulated loop.

#include "controllers/lifecycle/definitions.h"

#include <gtest/gtest.h>

#include "apiserver/custom_resources.h"
#include "apiserver/direct_client.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

Json definition(const std::string& plural, const std::string& kind) {
  Json made = yaml(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {}
spec:
  group: ex.io
  scope: Cluster
  names: {}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
)");
  made.at("metadata").get_object()["name"] = plural + ".ex.io";
  made.at("spec").at("names").get_object()["plural"] = plural;
  made.at("spec").at("names").get_object()["kind"] = kind;
  return made;
}

class DefinitionsTest : public testing::Test {
 protected:
  DefinitionsTest()
      : custom(yard.loop, *yard.store, *yard.api),
        client(
            *yard.store, yard.api->committer(), [this] { return yard.api->kinds(); }, "trainyard"),
        definitions(client, yard.loop) {}

  static std::string path(const std::string& plural) {
    return std::string(kDefinitions) + "/" + plural + ".ex.io";
  }
  // `status reason message` of a condition.
  std::string condition(const std::string& plural, std::string_view type) {
    const Json tree = yard.call("GET", path(plural)).json;
    const Json* list = find_path(tree, {"status", "conditions"});
    if (list == nullptr || !list->is_array()) return "";
    for (const Json& item : list->get_array()) {
      if (text_at(item, {"type"}) != type) continue;
      return std::string(text_at(item, {"status"})) + " " + std::string(text_at(item, {"reason"})) +
             ": " + std::string(text_at(item, {"message"}));
    }
    return "";
  }
  void make(const Json& what) {
    const Answer made = yard.call("POST", kDefinitions, to_text(what));
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  void settle() {
    yard.loop.run_until([] { return false; }, std::chrono::seconds(1));
  }
  Answer make_object(const std::string& plural, const std::string& kind, const std::string& name,
                     const std::string& finalizers = "[]") {
    return yard.call("POST", "/apis/ex.io/v1/" + plural,
                     R"({"apiVersion":"ex.io/v1","kind":")" + kind + R"(","metadata":{"name":")" +
                         name + R"(","finalizers":)" + finalizers + "}}");
  }

  ApiHarness yard;
  CustomResources custom;
  DirectClient client;
  Definitions definitions;
};

TEST_F(DefinitionsTest, NamesAreAcceptedAndTheKindIsServed) {
  make(definition("widgets", "Widget"));
  EXPECT_EQ(condition("widgets", "NamesAccepted"), "True NoConflicts: no conflicts found");
  EXPECT_EQ(condition("widgets", "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  const Json tree = yard.call("GET", path("widgets")).json;
  EXPECT_TRUE(equal(tree.at("status").at("acceptedNames"), tree.at("spec").at("names")))
      << to_text(tree);
  EXPECT_EQ(to_text(tree.at("status").at("storedVersions")), R"(["v1"])");
  EXPECT_EQ(int_at(tree, {"metadata", "generation"}), 1);
  EXPECT_EQ(make_object("widgets", "Widget", "a").status, 201);
}

TEST_F(DefinitionsTest, ATakenNameIsRefusedUntilItIsFree) {
  make(definition("widgets", "Widget"));
  make(definition("gadgets", "Widget"));
  // The last clash found is the one that is told: the list kind follows from the kind.
  EXPECT_EQ(condition("gadgets", "NamesAccepted"),
            "False ListKindConflict: \"WidgetList\" is already in use");
  EXPECT_EQ(condition("gadgets", "Established"), "False NotAccepted: not all names are accepted");
  EXPECT_EQ(yard.call("GET", "/apis/ex.io/v1/gadgets").status, 404);
  EXPECT_EQ(condition("widgets", "NamesAccepted"), "True NoConflicts: no conflicts found");
  ASSERT_EQ(yard.call("DELETE", path("widgets")).status, 200);
  settle();
  EXPECT_EQ(yard.call("GET", path("widgets")).status, 404);
  EXPECT_EQ(condition("gadgets", "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  EXPECT_EQ(make_object("gadgets", "Widget", "a").status, 201);
}

TEST_F(DefinitionsTest, TwoOfOneMomentDoNotShareAName) {
  Json one = definition("widgets", "Widget"), two = definition("gadgets", "Gadget");
  two.at("spec").at("names").get_object()["shortNames"] = JsonArray{"widgets"};
  const auto first = yard.send("POST", kDefinitions, to_text(one));
  const auto second = yard.send("POST", kDefinitions, to_text(two));
  settle();
  ASSERT_TRUE(first->answered && second->answered);
  const bool first_won = condition("widgets", "Established").starts_with("True");
  const bool second_won = condition("gadgets", "Established").starts_with("True");
  EXPECT_NE(first_won, second_won);
}

TEST_F(DefinitionsTest, ADeletedOneTakesItsInstancesWithIt) {
  make(definition("widgets", "Widget"));
  ASSERT_EQ(make_object("widgets", "Widget", "a").status, 201);
  ASSERT_EQ(make_object("widgets", "Widget", "held", R"(["a.io/b"])").status, 201);
  const auto watched = yard.watch("/apis/ex.io/v1/widgets?watch=1&resourceVersion=0");
  watched->take_events();
  ASSERT_EQ(yard.call("DELETE", path("widgets")).status, 200);
  settle();
  EXPECT_EQ(condition("widgets", "Terminating"),
            "True InstanceDeletionInProgress: CustomResource deletion is in progress");
  EXPECT_EQ(yard.call("GET", "/apis/ex.io/v1/widgets/a").status, 404);
  EXPECT_EQ(yard.call("GET", "/apis/ex.io/v1/widgets/held").status, 200)
      << "its finalizer holds it";
  EXPECT_EQ(yard.patch("/apis/ex.io/v1/widgets/held", R"({"metadata":{"finalizers":null}})").status,
            200);
  settle();
  EXPECT_EQ(yard.call("GET", path("widgets")).status, 404);
  EXPECT_EQ(yard.call("GET", "/apis/ex.io/v1/widgets").status, 404);
  EXPECT_TRUE(watched->closed) << "nobody watches what is served no more";
  EXPECT_EQ(yard.store->count("widgets.ex.io"), 0u);
  make(definition("widgets", "Widget"));
  EXPECT_EQ(make_object("widgets", "Widget", "a").status, 201) << "it may come again";
}

}  // namespace
}  // namespace yard
