#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/fields/fields_testing.h"

namespace yard {
namespace {

using namespace fields_testing;

struct Request {
  std::string_view manager;
  bool force = false;
  int64_t seconds = 2000;
  std::string_view subresource = "";
};

Result<Json> apply(const Json* live, const Schema& schema, std::string_view api_version,
                   std::string_view config, const Request& request) {
  ApplyOptions options;
  options.writer = writer(request.manager, api_version, request.seconds, request.subresource);
  options.force = request.force;
  options.reset_fields = {request.subresource == "status" ? "spec" : "status"};
  return apply_config(live, json(config), schema, options);
}

// What the server does after a merge: the defaults of the Widget's CRD.
void fill_defaults(Json& widget) {
  JsonObject& spec = object_at(widget.as_object(), "spec");
  if (!spec.contains("replicas")) spec["replicas"] = 1;
  if (Json* ports = find(widget.at("spec"), "ports")) {
    for (Json& port : ports->as_array()) {
      if (!port.as_object().contains("q")) port.as_object()["q"] = "z";
    }
  }
}

constexpr std::string_view kWidgetHead =
    R"({"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w1"},)";

std::string widget(std::string_view rest) {
  return std::string(kWidgetHead) + std::string(rest) + "}";
}

Result<Json> apply_widget(const Json* live, std::string_view rest, const Request& request) {
  Result<Json> merged = apply(live, widget_schema(), "ex.io/v1", widget(rest), request);
  if (merged) fill_defaults(*merged);
  return merged;
}

// Appendix C.2 from its first step to the ninth.
TEST(ApplyConfig, FollowsTheWidgetVectors) {
  Json object = json(widget(
      R"("spec":{"name":"n","ports":[{"p":1,"q":"z"}],"free":{"x":1},"tags":["a"],"replicas":1})"));
  track_update(nullptr, object, widget_schema(), writer("oracle", "ex.io/v1", 1000));
  Json scaled = object;
  scaled.at("spec").as_object()["replicas"] = 3;
  track_update(&object, scaled, widget_schema(), writer("oracle", "ex.io/v1", 1001, "scale"));
  Json reported = scaled;
  reported.as_object()["status"] = json(R"({"replicas":7,"conditions":[{"type":"A"}]})");
  track_update(&scaled, reported, widget_schema(), writer("oracle", "ex.io/v1", 1002, "status"));

  const Json forced =
      apply_widget(&reported, R"("spec":{"name":"b","ports":[{"p":1,"q":"t"},{"p":2}]})",
                   {.manager = "m1", .force = true})
          .value();
  EXPECT_EQ(to_text(forced.at("spec").at("ports")), R"([{"p":1,"q":"t"},{"p":2,"q":"z"}])");
  EXPECT_EQ(
      owned(forced, "m1", "Apply"),
      R"({"f:spec":{"f:name":{},"f:ports":{"k:{\"p\":1}":{".":{},"f:p":{},"f:q":{}},"k:{\"p\":2}":{".":{},"f:p":{}}}}})");
  EXPECT_EQ(
      owned(forced, "oracle"),
      R"({"f:spec":{".":{},"f:free":{".":{},"f:x":{}},"f:ports":{".":{},"k:{\"p\":1}":{".":{},"f:p":{}}},"f:tags":{".":{},"v:\"a\"":{}}}})");

  const Json shared =
      apply_widget(&forced, R"("spec":{"name":"b","ports":[{"p":2,"q":"z"},{"p":3}]})",
                   {.manager = "m2"})
          .value();
  EXPECT_EQ(to_text(shared.at("spec").at("ports")),
            R"([{"p":1,"q":"t"},{"p":2,"q":"z"},{"p":3,"q":"z"}])");

  const Json less = apply_widget(&shared, R"("spec":{"name":"b"})", {.manager = "m1"}).value();
  EXPECT_EQ(to_text(less.at("spec").at("ports")),
            R"([{"p":1,"q":"z"},{"p":2,"q":"z"},{"p":3,"q":"z"}])");
  EXPECT_EQ(owned(less, "m1", "Apply"), R"({"f:spec":{"f:name":{}}})");

  const Result<Json> status =
      apply_widget(&less, R"("status":{"replicas":3})", {.manager = "m1", .subresource = "status"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().reason, Reason::Conflict);
  EXPECT_EQ(
      status.error().message,
      "Apply failed with 1 conflict: conflict with \"oracle\" with subresource \"status\" using "
      "ex.io/v1: .status.replicas");

  const Json made =
      apply_widget(nullptr, R"("spec":{"name":"b","ports":[{"p":1}]})", {.manager = "m1"}).value();
  EXPECT_EQ(owners(made),
            "m1 Apply: "
            "{\"f:spec\":{\"f:name\":{},\"f:ports\":{\"k:{\\\"p\\\":1}\":{\".\":{},\"f:p\":{}}}}}");
}

struct RefusedCase {
  const char* about;
  const char* config;
  const char* message;
};

TEST(ApplyConfig, RefusesWhatDoesNotFitInUpstreamsWords) {
  constexpr const char* kPrefix =
      "failed to create typed patch object (/w1; ex.io/v1, Kind=Widget): ";
  const RefusedCase cases[] = {
      {"an unknown field", R"("spec":{"nope":1})", ".spec.nope: field not declared in schema"},
      {"an item without its key", R"("spec":{"ports":[{"q":"x"}]})",
       ".spec.ports: element 0: associative list with keys has an element that omits all key "
       "fields "
       "[\"p\"] (and doesn't have default values for any key fields)"},
      {"an item that is there twice", R"("spec":{"ports":[{"p":1},{"p":1}]})",
       ".spec.ports: duplicate entries for key [p=1]"},
      {"a value that is in a set twice", R"("spec":{"tags":["a","a"]})",
       ".spec.tags: duplicate entries for key [=\"a\"]"},
      {"an unknown field of an item", R"("spec":{"ports":[{"p":1,"r":1}]})",
       ".spec.ports[p=1].r: field not declared in schema"},
      {"a value of another type", R"("spec":{"name":5})",
       ".spec.name: expected string, got &value.valueUnstructured{Value:5}"},
      {"several problems", R"("spec":{"a":1,"b":1})",
       "errors:\n  .spec.a: field not declared in schema\n  .spec.b: field not declared in schema"},
  };
  for (const RefusedCase& c : cases) {
    const Result<Json> refused = apply_widget(nullptr, c.config, {.manager = "m"});
    ASSERT_FALSE(refused) << c.about;
    EXPECT_EQ(refused.error().reason, Reason::BadRequest);
    EXPECT_EQ(refused.error().message, std::string(kPrefix) + c.message) << c.about;
  }
  const Result<Json> entries = apply(nullptr, widget_schema(), "ex.io/v1",
                                     R"({"metadata":{"managedFields":[{}]}})", {.manager = "m"});
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().message, "metadata.managedFields must be nil");
}

constexpr std::string_view kConfigMap = "core.v1.ConfigMap";

Result<Json> apply_data(const Json* live, std::string_view data, const Request& request) {
  return apply(live, built_in(kConfigMap), "v1",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":)" +
                   std::string(data) + "}",
               request);
}

// Step 10 of C.2.
TEST(ApplyConfig, NamesEveryOwnerItConflictsWith) {
  const Json live = json(
      R"({"metadata":{"name":"a","uid":"u","managedFields":[)"
      R"({"manager":"kubectl","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}},"f:metadata":{"f:labels":{"f:a":{}}}}},)"
      R"({"manager":"kubectl-replace","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}]},"data":{"k":"1"}})");
  const Result<Json> refused = apply_data(&live, R"({"k":"2"})", {.manager = "m"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Apply failed with 2 conflicts: conflicts with \"kubectl\":\n- .data.k\nconflicts with "
            "\"kubectl-replace\" using v1:\n- .data.k");
  const std::vector<Cause> causes = {
      {"FieldManagerConflict", "conflict with \"kubectl\"", ".data.k"},
      {"FieldManagerConflict", "conflict with \"kubectl-replace\" using v1", ".data.k"}};
  EXPECT_EQ(refused.error().details.causes, causes);
  EXPECT_TRUE(refused.error().details.name.empty());

  const Json taken = apply_data(&live, R"({"k":"2"})", {.manager = "m", .force = true}).value();
  EXPECT_EQ(owners(taken),
            "kubectl Apply: {\"f:metadata\":{\"f:labels\":{\"f:a\":{}}}}\nm Apply: "
            "{\"f:data\":{\"f:k\":{}}}");
}

TEST(ApplyConfig, SharesEqualValuesAndDropsThemWithTheLastOwner) {
  const Json first = apply_data(nullptr, R"({"a":"1","b":"2"})", {.manager = "x"}).value();
  const Json both = apply_data(&first, R"({"a":"1"})", {.manager = "y"}).value();
  EXPECT_EQ(owned(both, "x", "Apply"), R"({"f:data":{"f:a":{},"f:b":{}}})");
  EXPECT_EQ(owned(both, "y", "Apply"), R"({"f:data":{"f:a":{}}})");
  const Json one = apply_data(&both, "{}", {.manager = "x"}).value();
  EXPECT_EQ(to_text(one.at("data")), R"({"a":"1"})");
  const Json none =
      apply(&one, built_in(kConfigMap), "v1",
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})", {.manager = "y"})
          .value();
  EXPECT_EQ(find(none, "data"), nullptr);
  EXPECT_EQ(text_at(none, {"metadata", "name"}), "a");
}

TEST(ApplyConfig, LeavesANoOpAsItWas) {
  const Json live = apply_data(nullptr, R"({"a":"1"})", {.manager = "x", .seconds = 1000}).value();
  const Json again = apply_data(&live, R"({"a":"1"})", {.manager = "x", .seconds = 5000}).value();
  EXPECT_EQ(to_text(again), to_text(live));
  const Json changed = apply_data(&live, R"({"a":"2"})", {.manager = "x", .seconds = 5000}).value();
  EXPECT_EQ(text_at(changed.at("metadata").at("managedFields").at(0), {"time"}),
            "1970-01-01T01:23:20Z");
}

TEST(ApplyConfig, GivesAnUntrackedObjectToBeforeFirstApply) {
  const Json live = json(R"({"metadata":{"name":"a","uid":"u"},"data":{"a":"1","b":"2"}})");
  const Result<Json> refused = apply_data(&live, R"({"a":"2"})", {.manager = "m"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  const Json shared = apply_data(&live, R"({"a":"1"})", {.manager = "m"}).value();
  EXPECT_EQ(owned(shared, "before-first-apply"), R"({"f:data":{".":{},"f:a":{},"f:b":{}}})");
}

TEST(ApplyConfig, LetsKubectlTakeOverWhatClientSideApplySet) {
  Json live = json(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"1\",\"b\":\"1\"}}"}},"data":{"a":"1","b":"2"}})");
  track_update(nullptr, live, built_in(kConfigMap), writer("kubectl-client-side-apply", "v1"));

  const Json taken = apply_data(&live, R"({"a":"9"})", {.manager = "kubectl"}).value();
  EXPECT_EQ(owned(taken, "kubectl", "Apply"), R"({"f:data":{"f:a":{}}})");
  EXPECT_EQ(text_at(taken, {"metadata", "annotations",
                            "kubectl.kubernetes.io/last-applied-configuration"}),
            "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"9\"},\"kind\":\"ConfigMap\",\"metadata\":{"
            "\"name\":\"a\"}}\n");

  const Result<Json> drifted = apply_data(&live, R"({"a":"9","b":"9"})", {.manager = "kubectl"});
  ASSERT_FALSE(drifted);
  EXPECT_EQ(drifted.error().message,
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
            ".data.b");
  EXPECT_FALSE(apply_data(&live, R"({"a":"9"})", {.manager = "someone"}));
}

// Step 11 of C.2, and what a pod's lists do.
TEST(ApplyConfig, MergesBuiltInListsByTheirKeys) {
  const Json service =
      apply(
          nullptr, built_in("core.v1.Service"), "v1",
          R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":80,"protocol":"UDP"},{"port":80}],"selector":{"a":"b"}}})",
          {.manager = "m"})
          .value();
  EXPECT_EQ(
      owned(service, "m", "Apply"),
      R"({"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}},"f:selector":{}}})");

  const Result<Json> twice = apply(
      nullptr, built_in("core.v1.Service"), "v1",
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"d"},"spec":{"ports":[{"port":80},{"port":80,"protocol":"TCP"}]}})",
      {.manager = "m"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message,
            "failed to create typed patch object (d/s; /v1, Kind=Service): .spec.ports: duplicate "
            "entries for key [port=80,protocol=\"TCP\"]");
}

TEST(ApplyConfig, NamesItemsInConflicts) {
  Json live = json(
      R"({"metadata":{"name":"p","finalizers":["a/b"]},"spec":{"containers":[{"name":"c","image":"one"}]}})");
  track_update(nullptr, live, built_in("core.v1.Pod"), writer("owner", "v1"));
  const Result<Json> refused = apply(
      &live, built_in("core.v1.Pod"), "v1",
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"two"}]}})",
      {.manager = "m"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Apply failed with 1 conflict: conflict with \"owner\" using v1: "
            ".spec.containers[name=\"c\"].image");
}

struct OrderCase {
  const char* about;
  const char* live;
  const char* config;
  const char* merged;
};

TEST(ApplyConfig, OrdersListsByTheConfigAndKeepsOthersInPlace) {
  const OrderCase cases[] = {
      {"shared items follow the config", R"(["a","b","c"])", R"(["c","a"])", R"(["b","c","a"])"},
      {"items of others stay before what followed them", R"(["x","a","b"])", R"(["a","n","b"])",
       R"(["x","a","n","b"])"},
      {"new items come where the config has them", R"(["a","b"])", R"(["n","a"])",
       R"(["n","a","b"])"},
      {"nothing shared: live first", R"(["a","b"])", R"(["n"])", R"(["a","b","n"])"},
  };
  for (const OrderCase& c : cases) {
    Json live = json(widget(R"("spec":{"tags":)" + std::string(c.live) + "}"));
    track_update(nullptr, live, widget_schema(), writer("o", "ex.io/v1"));
    const Json merged =
        apply(&live, widget_schema(), "ex.io/v1",
              widget(R"("spec":{"tags":)" + std::string(c.config) + "}"), {.manager = "m"})
            .value();
    EXPECT_EQ(to_text(merged.at("spec").at("tags")), c.merged) << c.about;
  }
}

TEST(ApplyConfig, DoesNotOwnResetFields) {
  const Json made =
      apply_widget(nullptr, R"("spec":{"name":"n"},"status":{"replicas":3})", {.manager = "m"})
          .value();
  EXPECT_EQ(owned(made, "m", "Apply"), R"({"f:spec":{"f:name":{}}})");
}

TEST(ApplyConfig, KubectlMigratesItsEntriesByJsonPatch) {
  Json live = json(R"({"metadata":{"name":"a","uid":"u"},"data":{"a":"1","b":"2"}})");
  track_update(nullptr, live, built_in(kConfigMap), writer("kubectl-client-side-apply", "v1"));
  Json migrated = live;
  JsonArray& entries = migrated.at("metadata").at("managedFields").as_array();
  entries.at(0).as_object()["manager"] = "kubectl";
  entries.at(0).as_object()["operation"] = "Apply";
  track_update(&live, migrated, built_in(kConfigMap), writer("kubectl", "v1", 3000));
  EXPECT_EQ(owners(migrated), "kubectl Apply: {\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}");
  const Json pruned = apply_data(&migrated, R"({"a":"1"})", {.manager = "kubectl"}).value();
  EXPECT_EQ(to_text(pruned.at("data")), R"({"a":"1"})");
}

// A quota with an empty spec is what was asked for, and stays what it is.
TEST(ApplyConfig, WhatIsWantedEmptyStaysWhenItsLastMemberGoes) {
  const Schema& quota = built_in("core.v1.ResourceQuota");
  const auto applied = [&](const Json* live, std::string_view spec) {
    const std::string config = fmt::format(R"({{"metadata":{{"name":"q"}},"spec":{}}})", spec);
    return apply(live, quota, "v1", config, {.manager = "m"}).value();
  };
  const Json made = applied(nullptr, R"({"hard":{"pods":"1"}})");
  const Json emptied = applied(&made, "{}");
  EXPECT_EQ(to_text(emptied.at("spec")), "{}");
  EXPECT_EQ(owned(emptied, "m", "Apply"), R"({"f:spec":{}})");
  EXPECT_TRUE(equal(applied(&emptied, "{}"), emptied));
}

}  // namespace
}  // namespace yard
