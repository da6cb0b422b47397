#include "apiserver/custom_resources.h"

#include <gtest/gtest.h>

#include "sim/api_harness.h"
#include "testing/objects.h"
#include "testing/widget.h"

namespace yard {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kDefinition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io";
constexpr const char* kWidgets = "/apis/ex.io/v1/namespaces/default/widgets";
constexpr const char* kWidget = "/apis/ex.io/v1/namespaces/default/widgets/w";

class CustomResourcesTest : public testing::Test {
 protected:
  CustomResourcesTest() {
    yard.make_namespace("default");
    custom = std::make_unique<CustomResources>(yard.loop, *yard.store, *yard.api);
  }

  // Creates or changes the definition and says it is established, as the controller would.
  void define(const Json& definition) {
    const std::string path =
        std::string(kDefinitions) + "/" + std::string(text_at(definition, {"metadata", "name"}));
    Answer made = yard.call("POST", kDefinitions, to_text(definition));
    if (made.status == 409) {
      Json next = definition;
      next.at("metadata").get_object()["resourceVersion"] =
          text_at(yard.call("GET", path).json, {"metadata", "resourceVersion"});
      made = yard.call("PUT", path, to_text(next));
      ASSERT_EQ(made.status, 200) << made.text;
      return;
    }
    ASSERT_EQ(made.status, 201) << made.text;
    Json established = made.json;
    established.at("status").get_object()["acceptedNames"] = established.at("spec").at("names");
    established.at("status").get_object()["conditions"] =
        yaml("[{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]");
    const Answer told_so = yard.call("PUT", path + "/status", to_text(established));
    ASSERT_EQ(told_so.status, 200) << told_so.text;
  }
  void define_widget(std::string_view change = "{}") {
    define(changed(yaml(kWidgetDefinition), change));
  }

  Answer create(const std::string& members, const std::string& name = "w") {
    return yard.call("POST", kWidgets,
                     to_text(changed(JsonObject{{"apiVersion", "ex.io/v1"},
                                                {"kind", "Widget"},
                                                {"metadata", JsonObject{{"name", name}}}},
                                     members)),
                     {{"User-Agent", "oracle/1.0"}});
  }
  Answer patch(const std::string& target, const std::string& body) {
    return yard.call(
        "PATCH", target, to_text(yaml(body)),
        {{"Content-Type", "application/merge-patch+json"}, {"User-Agent", "oracle/1.0"}});
  }
  Answer apply(const std::string& manager, const std::string& members, const std::string& more = "",
               const std::string& target = kWidget) {
    return yard.call("PATCH", target + "?fieldManager=" + manager + more,
                     to_text(changed(yaml("{apiVersion: ex.io/v1, kind: Widget}"), members)),
                     {{"Content-Type", "application/apply-patch+yaml"}});
  }
  static std::string message(const Answer& answer) {
    return std::string(text_at(answer.json, {"message"}));
  }
  static int64_t generation(const Answer& answer) {
    return int_at(answer.json, {"metadata", "generation"});
  }
  // The fields a manager owns through an endpoint, as JSON text.
  static std::string owned(const Answer& answer, std::string_view manager,
                           std::string_view subresource = "") {
    const Json* entries = find_path(answer.json, {"metadata", "managedFields"});
    if (entries == nullptr) return "";
    for (const Json& entry : entries->get_array()) {
      if (text_at(entry, {"manager"}) == manager && text_at(entry, {"subresource"}) == subresource)
        return to_text(entry.at("fieldsV1"));
    }
    return "";
  }
  static std::string ports(const Answer& answer) {
    return to_text(answer.json.at("spec").at("ports"));
  }

  ApiHarness yard;
  std::unique_ptr<CustomResources> custom;
};

TEST_F(CustomResourcesTest, ServesNothingBeforeItIsEstablished) {
  const Answer made = yard.call("POST", kDefinitions, to_text(yaml(kWidgetDefinition)));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(yard.call("GET", kWidgets).status, 404);
}

TEST_F(CustomResourcesTest, TheVectorsOfTheSpecification) {
  define_widget();
  const Answer made =
      create("{spec: {name: nn, ports: [{p: 1}], free: {x: 1}, tags: [a]}, status: {replicas: 5}}");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(find(made.json, "status"), nullptr) << "status is dropped on create";
  EXPECT_EQ(int_at(made.json, {"spec", "replicas"}), 1);
  EXPECT_EQ(ports(made), R"([{"p":1,"q":"z"}])");
  EXPECT_EQ(
      owned(made, "oracle"),
      R"({"f:spec":{".":{},"f:free":{".":{},"f:x":{}},"f:name":{},"f:ports":{".":{},"k:{\"p\":1}":{".":{},"f:p":{},"f:q":{}}},"f:replicas":{},"f:tags":{".":{},"v:\"a\"":{}}}})");

  const Answer scaled = patch(std::string(kWidget) + "/scale", "{spec: {replicas: 3}}");
  ASSERT_EQ(scaled.status, 200) << scaled.text;
  EXPECT_EQ(text_at(scaled.json, {"kind"}), "Scale");
  EXPECT_EQ(int_at(scaled.json, {"spec", "replicas"}), 3);
  Answer now = yard.call("GET", kWidget);
  EXPECT_EQ(generation(now), 2);
  EXPECT_EQ(owned(now, "oracle", "scale"), R"({"f:spec":{"f:replicas":{}}})");
  EXPECT_EQ(owned(now, "oracle").find("f:replicas"), std::string::npos);

  const Answer reported =
      patch(std::string(kWidget) + "/status",
            "{status: {replicas: 7, conditions: [{type: A}, {type: B}]}, spec: {replicas: 9}}");
  ASSERT_EQ(reported.status, 200) << reported.text;
  EXPECT_EQ(int_at(reported.json, {"spec", "replicas"}), 3);
  EXPECT_EQ(generation(reported), 2);
  EXPECT_EQ(owned(reported, "oracle", "status"),
            R"({"f:status":{".":{},"f:conditions":{},"f:replicas":{}}})");
  const Answer ignored = patch(kWidget, "{status: {replicas: 8}}");
  EXPECT_EQ(ignored.text, reported.text) << "the main endpoint changes no status";

  const Answer first =
      apply("m1", "{spec: {name: b, ports: [{p: 1, q: t}, {p: 2}]}}", "&force=true");
  ASSERT_EQ(first.status, 200) << first.text;
  EXPECT_EQ(
      owned(first, "m1"),
      R"({"f:spec":{"f:name":{},"f:ports":{"k:{\"p\":1}":{".":{},"f:p":{},"f:q":{}},"k:{\"p\":2}":{".":{},"f:p":{}}}}})");
  EXPECT_EQ(ports(first), R"([{"p":1,"q":"t"},{"p":2,"q":"z"}])");
  const Answer second = apply("m2", "{spec: {name: b, ports: [{p: 2, q: z}, {p: 3}]}}");
  ASSERT_EQ(second.status, 200) << second.text;
  EXPECT_EQ(ports(second), R"([{"p":1,"q":"t"},{"p":2,"q":"z"},{"p":3,"q":"z"}])");
  const Answer third = apply("m1", "{spec: {name: b}}");
  ASSERT_EQ(third.status, 200) << third.text;
  EXPECT_EQ(ports(third), R"([{"p":1,"q":"z"},{"p":2,"q":"z"},{"p":3,"q":"z"}])");
  EXPECT_EQ(owned(third, "m1"), R"({"f:spec":{"f:name":{}}})");

  const Answer undeclared = apply("m1", "{spec: {name: b, nope: 1}}");
  EXPECT_EQ(undeclared.status, 400);
  EXPECT_NE(message(undeclared).find(".spec.nope: field not declared in schema"), std::string::npos)
      << undeclared.text;
  const Answer conflict =
      apply("m1", "{status: {replicas: 3}}", "", std::string(kWidget) + "/status");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(message(conflict),
            "Apply failed with 1 conflict: conflict with \"oracle\" with subresource \"status\" "
            "using ex.io/v1: .status.replicas");
  const Answer fresh = apply("m1", "{metadata: {name: fresh}, spec: {name: c}}", "",
                             std::string(kWidgets) + "/fresh");
  EXPECT_EQ(fresh.status, 201) << fresh.text;
  EXPECT_EQ(owned(fresh, "m1"), R"({"f:spec":{"f:name":{}}})");
  EXPECT_EQ(int_at(fresh.json, {"spec", "replicas"}), 1);
}

TEST_F(CustomResourcesTest, RefusesInTheWordsOfTheSpecification) {
  define_widget();
  ASSERT_EQ(create("{spec: {name: nn}}").status, 201);
  const struct {
    const char* about;
    const char* members;
    int status;
    const char* message;
  } rows[] = {
      {"a missing member", "{spec: {}}", 422,
       "Widget.ex.io \"x\" is invalid: spec.name: Required value"},
      {"a long text", "{spec: {name: abcdef}}", 422,
       "Widget.ex.io \"x\" is invalid: spec.name: Too long: may not be more than 5 bytes"},
      {"a wrong type", "{spec: {name: nn, replicas: many}}", 422,
       "Widget.ex.io \"x\" is invalid: spec.replicas: Invalid value: \"string\": spec.replicas in "
       "body must be of type integer: \"string\""},
      {"a key twice", "{spec: {name: nn, ports: [{p: 1}, {p: 1}]}}", 422,
       "Widget.ex.io \"x\" is invalid: spec.ports[1]: Duplicate value: {\"p\":1}"},
      {"several at once", "{spec: {name: abcdef, replicas: -1}}", 422,
       "Widget.ex.io \"x\" is invalid: [spec.name: Too long: may not be more than 5 bytes, "
       "spec.replicas: Invalid value: -1: spec.replicas in body should be "
       "greater than or equal to 0]"},
  };
  for (const auto& row : rows) {
    const Answer answer = create(row.members, "x");
    EXPECT_EQ(answer.status, row.status) << row.about << answer.text;
    EXPECT_EQ(message(answer), row.message) << row.about;
  }
  const Answer blind = yard.call(
      "PUT", kWidget,
      R"({"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"name":"m"}})");
  EXPECT_EQ(blind.status, 422);
  EXPECT_EQ(message(blind),
            "Widget.ex.io \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
            "specified for an update");
  EXPECT_EQ(yard.call("PATCH", kWidget, "{}",
                      {{"Content-Type", "application/strategic-merge-patch+json"}})
                .status,
            415);
}

TEST_F(CustomResourcesTest, UnknownFieldsArePrunedToldOrRefused) {
  define_widget();
  const Answer told_so = create("{spec: {name: nn, nope: 1, free: {kept: 2}}}");
  ASSERT_EQ(told_so.status, 201) << told_so.text;
  EXPECT_EQ(told_so.header("Warning"), "299 - \"unknown field \\\"spec.nope\\\"\"");
  EXPECT_EQ(find_path(told_so.json, {"spec", "nope"}), nullptr);
  EXPECT_EQ(int_at(told_so.json, {"spec", "free", "kept"}), 2);
  const Answer strict = yard.call(
      "POST", std::string(kWidgets) + "?fieldValidation=Strict",
      R"({"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"s"},"spec":{"name":"n","nope":1}})");
  EXPECT_EQ(strict.status, 400);
  EXPECT_NE(message(strict).find("strict decoding error: unknown field \"spec.nope\""),
            std::string::npos)
      << strict.text;
}

TEST_F(CustomResourcesTest, ScaleIsMappedBothWays) {
  define_widget();
  ASSERT_EQ(create("{spec: {name: nn, replicas: 2}}").status, 201);
  ASSERT_EQ(
      patch(std::string(kWidget) + "/status", "{status: {replicas: 1, selector: a=b}}").status,
      200);
  const std::string scale = std::string(kWidget) + "/scale";
  const Answer read = yard.call("GET", scale);
  ASSERT_EQ(read.status, 200) << read.text;
  EXPECT_EQ(to_text(read.json.at("spec")), R"({"replicas":2})");
  EXPECT_EQ(to_text(read.json.at("status")), R"({"replicas":1,"selector":"a=b"})");
  EXPECT_EQ(text_at(read.json, {"metadata", "name"}), "w");

  Json wanted = read.json;
  wanted.at("spec").get_object()["replicas"] = 4;
  const Answer put = yard.call("PUT", scale, to_text(wanted));
  ASSERT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(int_at(yard.call("GET", kWidget).json, {"spec", "replicas"}), 4);
  EXPECT_EQ(yard.call("PUT", scale, to_text(wanted)).status, 409) << "its revision is old by now";
  const Answer negative = patch(scale, "{spec: {replicas: -1}}");
  EXPECT_EQ(negative.status, 422);
  EXPECT_EQ(message(negative),
            "Scale.autoscaling \"w\" is invalid: spec.replicas: Invalid value: -1: must be greater "
            "than or equal to 0");
  EXPECT_EQ(int_at(yard.call("PATCH", scale + "?dryRun=All", R"({"spec":{"replicas":9}})",
                             {{"Content-Type", "application/merge-patch+json"}})
                       .json,
                   {"spec", "replicas"}),
            9);
  EXPECT_EQ(int_at(yard.call("GET", scale).json, {"spec", "replicas"}), 4);
}

TEST_F(CustomResourcesTest, DiscoveryAndOpenApiFollowTheDefinition) {
  define_widget();
  const Answer resources = yard.call("GET", "/apis/ex.io/v1");
  ASSERT_EQ(resources.status, 200) << resources.text;
  EXPECT_NE(resources.text.find(
                R"("name":"widgets/scale","singularName":"","namespaced":true,"kind":"Scale")"),
            std::string::npos)
      << resources.text;
  const Answer document = yard.call("GET", "/openapi/v3/apis/ex.io/v1");
  EXPECT_NE(
      find_path(document.json, {"components", "schemas", "io.ex.v1.Widget", "properties", "spec"}),
      nullptr)
      << document.text;
  EXPECT_EQ(int_at(document.json, {"components", "schemas", "io.ex.v1.Widget", "properties", "spec",
                                   "properties", "name", "maxLength"}),
            5);
  const std::string before(text_at(yard.call("GET", "/openapi/v3").json,
                                   {"paths", "apis/ex.io/v1", "serverRelativeURL"}));
  Json wider = yaml(kWidgetDefinition);
  wider.at("spec")
      .at("versions")
      .get_array()[0]
      .at("schema")
      .at("openAPIV3Schema")
      .at("properties")
      .at("spec")
      .at("properties")
      .get_object()["extra"] = JsonObject{{"type", "string"}};
  define(wider);
  EXPECT_NE(text_at(yard.call("GET", "/openapi/v3").json,
                    {"paths", "apis/ex.io/v1", "serverRelativeURL"}),
            before);
  const Answer accepted = create("{spec: {name: nn, extra: more}}");
  EXPECT_EQ(accepted.status, 201) << accepted.text;
  EXPECT_EQ(accepted.header("Warning"), "");
}

TEST_F(CustomResourcesTest, TablesAndSelectorsFollowTheDefinition) {
  define_widget();
  ASSERT_EQ(create("{spec: {name: a, replicas: 4}}", "one").status, 201);
  ASSERT_EQ(create("{spec: {name: b}}", "two").status, 201);
  const Headers as_table{{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  const Answer table =
      yard.call("GET", std::string(kWidgets) + "?includeObject=None", "", as_table);
  EXPECT_EQ(to_text(table.json.at("rows")), R"([{"cells":["one",4]},{"cells":["two",1]}])");
  const Answer selected = yard.call("GET", std::string(kWidgets) + "?fieldSelector=spec.name%3Db");
  EXPECT_EQ(selected.json.at("items").get_array().size(), 1u) << selected.text;

  Json other = yaml(kWidgetDefinition);
  other.at("spec").at("versions").get_array()[0].get_object()["additionalPrinterColumns"] = yaml(
      "[{name: Said, type: string, jsonPath: .spec.name}, {name: Count, type: number, jsonPath: "
      ".spec.replicas}]");
  define(other);
  yard.loop.run_until([] { return false; }, std::chrono::seconds(1));
  const Answer again =
      yard.call("GET", std::string(kWidgets) + "?includeObject=None", "", as_table);
  EXPECT_EQ(to_text(again.json.at("rows")), R"([{"cells":["one","a",4]},{"cells":["two","b",1]}])")
      << "stored rows are printed anew";
}

TEST_F(CustomResourcesTest, VersionsAreViewsOfOneObject) {
  Json definition = yaml(kWidgetDefinition);
  JsonArray& versions = definition.at("spec").at("versions").get_array();
  Json beta = versions[0];
  beta.get_object()["name"] = "v1beta1";
  beta.get_object()["storage"] = false;
  beta.get_object()["deprecated"] = true;
  versions.push_back(std::move(beta));
  define(definition);
  ASSERT_EQ(create("{spec: {name: nn}}").status, 201);
  const std::string path = "/apis/ex.io/v1beta1/namespaces/default/widgets/w";
  const Answer seen = yard.call("GET", path);
  EXPECT_EQ(text_at(seen.json, {"apiVersion"}), "ex.io/v1beta1");
  EXPECT_EQ(seen.header("Warning"), "299 - \"ex.io/v1beta1 Widget is deprecated\"");
  const Answer changed_there = patch(path, "{spec: {replicas: 6}}");
  EXPECT_EQ(changed_there.status, 200) << changed_there.text;
  const Answer stable = yard.call("GET", kWidget);
  EXPECT_EQ(text_at(stable.json, {"apiVersion"}), "ex.io/v1");
  EXPECT_EQ(int_at(stable.json, {"spec", "replicas"}), 6);
}

TEST_F(CustomResourcesTest, OneThatIsGoingTakesNoNewObjectsButLetsOldOnesGo) {
  define_widget();
  ASSERT_EQ(create("{spec: {name: nn}, metadata: {finalizers: [a.io/b]}}").status, 201);
  const Answer going = yard.call("DELETE", kDefinition);
  ASSERT_EQ(going.status, 200) << going.text;
  EXPECT_EQ(to_text(going.json.at("metadata").at("finalizers")),
            R"(["customresourcecleanup.apiextensions.k8s.io"])");
  const Answer refused = create("{spec: {name: nn}}", "late");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(message(refused), "create not allowed while custom resource definition is terminating");
  EXPECT_EQ(
      apply("m", "{metadata: {name: late}, spec: {name: nn}}", "", std::string(kWidgets) + "/late")
          .status,
      403);
  EXPECT_EQ(patch(kWidget, "{metadata: {finalizers: null}}").status, 200);
  EXPECT_EQ(yard.call("DELETE", kWidget).status, 200);
  EXPECT_EQ(yard.call("GET", "/apis/ex.io/v1").text.find("\"create\""), std::string::npos);
}

TEST_F(CustomResourcesTest, AreServedAgainAfterAStart) {
  define_widget();
  ASSERT_EQ(create("{spec: {name: nn}}").status, 201);
  custom.reset();
  yard.crash();
  yard.start();
  EXPECT_EQ(yard.call("GET", kWidget).status, 404);
  custom = std::make_unique<CustomResources>(yard.loop, *yard.store, *yard.api);
  EXPECT_EQ(yard.call("GET", kWidget).status, 200);
}

TEST_F(CustomResourcesTest, AnUpdateIsJudgedLikeACreate) {
  define_widget();
  Json broken = yard.call("GET", kDefinition).json;
  broken.at("spec")
      .at("versions")
      .get_array()[0]
      .at("schema")
      .at("openAPIV3Schema")
      .get_object()["type"] = "string";
  EXPECT_EQ(yard.call("PUT", kDefinition, to_text(broken)).status, 422);
  ASSERT_EQ(yard.call("POST", "/api/v1/namespaces/default/configmaps",
                      R"({"metadata":{"name":"m"},"data":{"a":"1"}})")
                .status,
            201);
  EXPECT_EQ(yard.call("PUT", "/api/v1/namespaces/default/configmaps/m",
                      R"({"metadata":{"name":"m"},"data":{"a b":"1"}})")
                .status,
            422);
}

TEST_F(CustomResourcesTest, UnenforcedRulesAreTold) {
  Json definition = yaml(kWidgetDefinition);
  definition.at("spec")
      .at("versions")
      .get_array()[0]
      .at("schema")
      .at("openAPIV3Schema")
      .at("properties")
      .at("spec")
      .get_object()["x-kubernetes-validations"] =
      yaml("[{rule: 'self.replicas < 10', message: too many}]");
  const Answer made = yard.call("POST", kDefinitions, to_text(definition));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_NE(made.header("Warning").find("CEL rules are stored but not enforced"),
            std::string::npos);
}

}  // namespace
}  // namespace yard
