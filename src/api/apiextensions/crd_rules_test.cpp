#include "api/apiextensions/crd_rules.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

Json widget() {
  return yaml(R"(
metadata: {name: widgets.ex.io}
spec:
  group: ex.io
  scope: Namespaced
  conversion: {strategy: None}
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [w]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}}
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Replicas, type: integer, jsonPath: .spec.replicas}])");
}

struct Case {
  const char* about;
  const char* change;  // over a good definition, or over its only version
  const char* errors;
};

TEST(CrdRules, ADefinitionIsNamedAndVersionedWell) {
  const Case cases[] = {
      {"a good one", "{}", ""},
      {"a name of its own", "{metadata: {name: w.ex.io}}",
       "metadata.name: Invalid value: \"w.ex.io\": must be spec.names.plural+\".\"+spec.group"},
      {"a group without a dot", "{metadata: {name: widgets.ex}, spec: {group: ex}}",
       "spec.group: Invalid value: \"ex\": should be a domain with at least one dot"},
      {"an unknown scope", "{spec: {scope: Everywhere}}",
       "spec.scope: Unsupported value: \"Everywhere\": supported values: \"Cluster\", "
       "\"Namespaced\""},
      {"no scope", "{spec: {scope: null}}", "spec.scope: Required value"},
      {"a list kind like the kind", "{spec: {names: {listKind: Widget}}}",
       "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"},
      {"no versions", "{spec: {versions: []}}",
       "spec.versions: Required value: must have at least one version"},
      {"fields of no one's business", "{spec: {preserveUnknownFields: true}}",
       "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
       "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"},
  };
  for (const Case& c : cases) {
    Json definition = changed(widget(), c.change);
    EXPECT_EQ(told(validate_definition(definition)), c.errors) << c.about;
  }
}

TEST(CrdRules, ExactlyOneVersionIsStored) {
  for (bool stored : {true, false}) {
    Json definition = widget();
    JsonArray& versions = definition.at("spec").at("versions").as_array();
    Json second = versions[0];
    second.as_object()["name"] = "v2";
    versions.push_back(std::move(second));
    for (Json& version : versions)
      version.as_object()["storage"] = stored;
    FieldErrors errors = validate_definition(definition);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_TRUE(
        errors[0].message.ends_with("must have exactly one version marked as storage version"));
  }
}

TEST(CrdRules, AVersionIsWellFormed) {
  const Case cases[] = {
      {"without a schema", "{schema: null}", "schema.openAPIV3Schema: Required value"},
      {"a scale outside spec",
       "{subresources: {scale: {specReplicasPath: .status.x, statusReplicasPath: .status.y}}}",
       "subresources.scale.specReplicasPath: Invalid value: \".status.x\": should be a json path "
       "under .spec"},
      {"a column of an unknown type",
       "{additionalPrinterColumns: [{name: A, type: text, jsonPath: .a}]}",
       "additionalPrinterColumns[0].type: Unsupported value: \"text\": supported values: "
       "\"boolean\", \"date\", \"integer\", \"number\", \"string\""},
      {"a column without a name", "{additionalPrinterColumns: [{type: string, jsonPath: .a}]}",
       "additionalPrinterColumns[0].name: Required value"},
      {"a path into metadata", "{selectableFields: [{jsonPath: .metadata.name}]}",
       "selectableFields[0].jsonPath: Invalid value: \".metadata.name\": must not point to fields "
       "in metadata"},
  };
  for (const Case& c : cases) {
    Json definition = widget();
    Json& version = definition.at("spec").at("versions").as_array()[0];
    version = changed(std::move(version), c.change);
    std::string expected = "spec.versions[0]." + std::string(c.errors);
    EXPECT_EQ(told(validate_definition(definition)), expected) << c.about;
  }
}

TEST(CrdRules, ASchemaIsStructural) {
  const Case cases[] = {
      {"a good one", "{type: object, properties: {a: {type: string}, metadata: {type: object}}}",
       ""},
      {"a root that is no object", "{type: string}",
       "s.type: Invalid value: \"string\": must be object at the root"},
      {"a root without type", "{properties: {}}",
       "s.type: Required value: must not be empty at the root"},
      {"a property without type", "{type: object, properties: {a: {description: x}}}",
       "s.properties[a].type: Required value: must not be empty for specified object fields"},
      {"int or string needs no type",
       "{type: object, properties: {a: {x-kubernetes-int-or-string: true}}}", ""},
      {"int or string, written out",
       "{type: object, properties: {a: {anyOf: [{type: integer}, {type: string}], "
       "x-kubernetes-int-or-string: true}}}",
       ""},
      {"anything needs no type",
       "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}", ""},
      {"a list of unsaid things", "{type: object, properties: {a: {type: array}}}",
       "s.properties[a].items: Required value: must be specified"},
      {"no reference", "{type: object, properties: {a: {type: object, $ref: x}}}",
       "s.properties[a].$ref: Forbidden: $ref is not supported"},
      {"properties and more",
       "{type: object, properties: {a: {type: object, properties: {b: "
       "{type: string}}, additionalProperties: {type: string}}}}",
       "s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are "
       "mutual exclusive"},
      {"nothing more", "{type: object, additionalProperties: false}",
       "s.additionalProperties: Forbidden: must not be used at the root"},
      {"a map of lists of maps",
       "{type: object, properties: {a: {type: array, "
       "x-kubernetes-list-type: map, items: {type: object}}}}",
       "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
       "x-kubernetes-list-type is map"},
      {"a key that may be absent",
       "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, "
       "x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}}}",
       "s.properties[a].items.properties[k].default: Required value: this property is in "
       "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
      {"a required key",
       "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, "
       "x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: "
       "{type: string}}}}}}",
       ""},
      {"a type inside oneOf",
       "{type: object, oneOf: [{properties: {a: {type: object}}}], properties: {a: {type: "
       "object}}}",
       "s.oneOf[0].properties[a].type: Forbidden: must be empty to be structural"},
      {"metadata is the server's",
       "{type: object, properties: {metadata: {type: object, properties: {labels: {type: "
       "object}}}}}",
       "s.properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but metadata is implicitly specified"},
  };
  for (const Case& c : cases) {
    FieldErrors errors;
    check_structural_schema(errors, FieldPath("s"), yaml(c.change));
    EXPECT_EQ(told(errors), c.errors) << c.about;
  }
}

TEST(CrdRules, APatternMustCompile) {
  FieldErrors errors;
  check_structural_schema(errors, FieldPath("s"), yaml("{type: object, pattern: '('}"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "s.pattern");
}

TEST(CrdRules, ASchemaTooDeepIsRefusedNotWalked) {
  Json schema = JsonObject{{"type", "object"}};
  for (int i = 0; i < 300; ++i) {
    Json outer = JsonObject{{"type", "object"}};
    outer.as_object()["additionalProperties"] = std::move(schema);
    schema = std::move(outer);
  }
  const Json root =
      JsonObject{{"type", "object"}, {"properties", JsonObject{{"a", std::move(schema)}}}};
  FieldErrors errors;
  check_structural_schema(errors, FieldPath("s"), root);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].message.ends_with("is nested too deep"));
}

}  // namespace
}  // namespace yard
