#include "api/crd/custom_kinds.h"

#include <gtest/gtest.h>

#include "api/table.h"
#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

Json widgets() {
  return yaml(R"(
metadata: {name: widgets.ex.io}
spec:
  group: ex.io
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [w], categories: [all]}
  versions:
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string, default: red}, size: {type: integer}}}}}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Size, type: integer, jsonPath: .spec.size, priority: 1}
    - {name: Since, type: date, jsonPath: .metadata.creationTimestamp}
    - {name: All, type: string, jsonPath: .spec}
    - {name: Wrong, type: boolean, jsonPath: .spec.color}
  - {name: v2, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
status: {acceptedNames: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [w]}}
)");
}

TEST(KindsOfDefinition, OneForEachServedVersionTheStableFirst) {
  const auto kinds = kinds_of_definition(widgets());
  ASSERT_EQ(kinds.size(), 2u);
  const Kind& v1 = *kinds[0];
  const Kind& beta = *kinds[1];
  EXPECT_EQ(v1.api_version(), "ex.io/v1");
  EXPECT_EQ(v1.storage, "widgets.ex.io");
  EXPECT_EQ(v1.list_kind, "WidgetList");
  EXPECT_TRUE(v1.custom && v1.namespaced && v1.tracks_generation &&
              !v1.allows_unconditional_update);
  EXPECT_TRUE(v1.has_status());
  EXPECT_EQ(v1.subresource("scale")->kind, "Scale");
  EXPECT_EQ(v1.scale->spec_replicas, ".spec.size");
  EXPECT_FALSE(v1.from_stored);
  EXPECT_TRUE(beta.from_stored);
  EXPECT_EQ(beta.deprecation_warning, "ex.io/v1beta1 Widget is deprecated");
  EXPECT_EQ(beta.columns.size(), 2u) << "Name and Age";
  Json object = yaml("{apiVersion: ex.io/v1, kind: Widget, metadata: {name: a}}");
  beta.from_stored(object);
  EXPECT_EQ(text_at(object, {"apiVersion"}), "ex.io/v1beta1");
  beta.to_stored(object);
  EXPECT_EQ(text_at(object, {"apiVersion"}), "ex.io/v1");
}

TEST(KindsOfDefinition, PrintsItsColumns) {
  const KindPtr kind = kinds_of_definition(widgets())[0];
  const Json object = yaml(
      "{metadata: {name: a, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {color: blue, size: "
      "3}}");
  std::string row;
  append_rendered_cells(row, kind->cells(object), *parse_rfc3339("2026-01-01T00:01:00Z"));
  EXPECT_EQ(row, R"(["a","blue",3,"60s","{\"color\":\"blue\",\"size\":3}",null])");
  EXPECT_EQ(kind->columns[2].priority, 1);
  row.clear();
  append_rendered_cells(row, kind->cells(yaml("{metadata: {name: a}}")), Time());
  EXPECT_EQ(row, R"(["a",null,null,null,null,null])");
}

TEST(KindsOfDefinition, SelectsByItsFields) {
  const KindPtr kind = kinds_of_definition(widgets())[0];
  EXPECT_EQ(join(kind->selectable_fields, ","), "spec.color,spec.size");
  EXPECT_EQ(join(kind->field_values(yaml("{spec: {color: blue, size: 3}}")), ","), "blue,3");
  EXPECT_EQ(join(kind->field_values(yaml("{}")), ","), ",");
}

TEST(KindsOfDefinition, OneThatIsGoingTakesNoNewObjects) {
  Json definition = widgets();
  definition.at("metadata").get_object()["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  const KindPtr kind = kinds_of_definition(definition)[0];
  EXPECT_FALSE(kind->allows("create"));
  EXPECT_TRUE(kind->allows("delete"));
  const ClusterFacts facts;
  Random random(1);
  std::vector<std::string> warnings;
  Json object = JsonObject();
  const auto made = kind->prepare_create(object, Admission{facts, Time(), random, warnings, false});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, Reason::Forbidden);
  EXPECT_EQ(made.error().message,
            "create not allowed while custom resource definition is terminating");
}

TEST(KindsOfDefinition, StoresAsTheFirstServedWhereTheStorageVersionIsNot) {
  Json definition = widgets();
  definition.at("spec").at("versions").get_array()[1].get_object()["served"] = false;
  const auto kinds = kinds_of_definition(definition);
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_FALSE(kinds[0]->from_stored);
}

TEST(PreferredVersion, StableBeforeBetaBeforeAlpha) {
  const std::vector<std::string> wanted{"v10",     "v2",        "v1",        "v11beta2", "v10beta3",
                                        "v3beta1", "v12alpha1", "v11alpha2", "foo1",     "foo10"};
  std::vector<std::string> sorted = wanted;
  std::ranges::reverse(sorted);
  std::ranges::sort(sorted, [](const auto& left, const auto& right) {
    return is_preferred_version(left, right);
  });
  EXPECT_EQ(join(sorted, " "), join(wanted, " "));
}

TEST(DefinitionWarnings, NameWhatDoesNothing) {
  Json definition = widgets();
  EXPECT_TRUE(definition_warnings(definition).empty());
  definition.at("spec").at("versions").get_array()[1].at("schema").at("openAPIV3Schema") = yaml(
      "{type: object, properties: {spec: {type: object, x-kubernetes-validations: [{rule: 'self.a "
      "> 1'}], properties: {a: {type: string, format: poem}}}}}");
  EXPECT_EQ(join(definition_warnings(definition), "\n"),
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations: "
            "CEL rules are stored but not enforced by this server\n"
            "unrecognized format \"poem\"");
}

}  // namespace
}  // namespace yard
