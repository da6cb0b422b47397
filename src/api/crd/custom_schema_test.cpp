#include "api/crd/custom_schema.h"

#include <gtest/gtest.h>

#include "api/crd/default_rules.h"
#include "api/schema/decode.h"
#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

// The Widget of api-machinery C.2, with one of everything besides.
const char* const kSchema = R"(
type: object
properties:
  metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}
  spec:
    type: object
    properties:
      name: {type: string}
      replicas: {type: integer, default: 1}
      note: {type: string, nullable: true, default: hello}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [p]
        items: {type: object, required: [p], properties: {p: {type: integer}, q: {type: string, default: z}}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      any: {x-kubernetes-preserve-unknown-fields: true}
      closed: {type: object}
      by_name: {type: object, additionalProperties: {type: object, properties: {size: {type: string, default: small}}}}
      whole: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}
      template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
      limits: {type: object, default: {}, properties: {cpu: {x-kubernetes-int-or-string: true, default: 1}}}
)";

const CustomSchema& widget() {
  static const CustomSchema made = compile_custom_schema(yaml(kSchema));
  return made;
}

TEST(CustomSchema, KeepsTheTopologyOfApply) {
  const Schema* spec = widget().root->field("spec")->schema;
  EXPECT_EQ(widget().root->field("metadata")->schema->name, "meta.v1.ObjectMeta");
  EXPECT_EQ(spec->field("ports")->schema->list_type, Schema::ListType::Map);
  EXPECT_EQ(spec->field("ports")->schema->list_keys, std::vector<std::string>{"p"});
  EXPECT_TRUE(spec->field("ports")->schema->items->field("p")->required);
  EXPECT_EQ(spec->field("tags")->schema->list_type, Schema::ListType::Set);
  EXPECT_TRUE(spec->field("whole")->schema->atomic);
  EXPECT_EQ(spec->field("any")->schema->type, Schema::Type::Any);
  EXPECT_EQ(spec->field("by_name")->schema->type, Schema::Type::Map);
}

struct Row {
  const char* about;
  const char* sent;
  const char* kept;
  const char* unknown;
};

class PruneTest : public testing::TestWithParam<Row> {};

TEST_P(PruneTest, KeepsWhatTheSchemaKnows) {
  const Row& row = GetParam();
  Json object = yaml(row.sent);
  auto findings = conform(object, *widget().root, "Widget");
  ASSERT_TRUE(findings) << findings.error().message;
  EXPECT_EQ(to_text(object), to_text(yaml(row.kept))) << row.about;
  EXPECT_EQ(join(findings->unknown_fields, " "), row.unknown) << row.about;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PruneTest,
    testing::Values(
        Row{"a member nobody declared", "spec: {name: a, nope: 1}", "spec: {name: a}", "spec.nope"},
        Row{"one of a list's items", "spec: {ports: [{p: 1, x: 2}]}", "spec: {ports: [{p: 1}]}",
            "spec.ports[0].x"},
        Row{"anything where all is kept", "spec: {free: {a: {b: null}}, any: [1, {c: d}]}",
            "spec: {free: {a: {b: null}}, any: [1, {c: d}]}", ""},
        Row{"an object without members", "spec: {closed: {a: 1}}", "spec: {closed: {}}",
            "spec.closed.a"},
        Row{"values of a map", "spec: {by_name: {a: {size: big, x: y}}}",
            "spec: {by_name: {a: {size: big}}}", "spec.by_name.a.x"},
        Row{"an embedded object keeps its type and metadata",
            "spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: x, nope: y}, spec: {a: "
            "b, c: d}, e: f}}",
            "spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {a: b}}}",
            "spec.template.metadata.nope spec.template.spec.c spec.template.e"},
        Row{"null where it means nothing", "spec: {name: null, replicas: null}", "spec: {}", ""},
        Row{"null where it is a value", "spec: {note: null}", "spec: {note: null}", ""},
        Row{"unknown metadata", "metadata: {name: a, bogus: b}", "metadata: {name: a}",
            "metadata.bogus"}));

struct Filled {
  const char* about;
  const char* before;
  const char* after;
};

class DefaultsTest : public testing::TestWithParam<Filled> {};

TEST_P(DefaultsTest, FillsWhatIsMissing) {
  Json object = yaml(GetParam().before);
  apply_defaults(object, *widget().root);
  EXPECT_TRUE(equal(object, yaml(GetParam().after))) << GetParam().about << "\n" << to_text(object);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DefaultsTest,
    testing::Values(
        Filled{"no spec, no defaults in it", "metadata: {}", "metadata: {}"},
        Filled{"missing members", "spec: {}", "spec: {replicas: 1, note: hello, limits: {cpu: 1}}"},
        Filled{"a null that is no value", "spec: {replicas: null, note: null, limits: null}",
               "spec: {replicas: 1, note: null, limits: {cpu: 1}}"},
        Filled{"items and values",
               "spec: {replicas: 2, note: x, limits: {cpu: 5}, ports: [{p: 1}, {p: 2, q: t}], "
               "by_name: {a: {}}}",
               "spec: {replicas: 2, note: x, limits: {cpu: 5}, ports: [{p: 1, q: z}, {p: 2, q: "
               "t}], by_name: {a: {size: small}}}"},
        Filled{"a value of another type is left to validation", "spec: nothing", "spec: nothing"}));

TEST(SchemaDefaults, MustFitTheirSchema) {
  const struct {
    const char* about;
    const char* property;
    const char* complaints;
  } rows[] = {
      {"one that fits", "{type: integer, default: 3, minimum: 1}", ""},
      {"another type", "{type: integer, default: three}",
       "s.properties[x].default: Invalid value: \"string\": default in body must be of type "
       "integer: \"string\""},
      {"out of its bounds", "{type: integer, default: 0, minimum: 1}",
       "s.properties[x].default: Invalid value: 0: default in body should be greater than or equal "
       "to 1"},
      {"a member nobody declared", "{type: object, default: {a: 1}}",
       "s.properties[x].default: Invalid value: {\"a\":1}: must not have unknown fields"},
      {"completed by defaults below",
       "{type: object, default: {}, required: [a], properties: {a: {type: string, default: b}}}",
       ""},
  };
  for (const auto& row : rows) {
    FieldErrors errors;
    check_schema_defaults(
        errors, FieldPath("s"),
        JsonObject{{"type", "object"}, {"properties", JsonObject{{"x", yaml(row.property)}}}});
    EXPECT_EQ(told(errors), row.complaints) << row.about;
  }
}

TEST(CustomSchema, SurvivesWhatIsNoSchema) {
  for (const char* text : {"{}", "[]", "null", "{type: 3, properties: [], items: x}",
                           "{properties: {a: null, b: {additionalProperties: 3}}}"}) {
    const CustomSchema made = compile_custom_schema(yaml(text));
    Json object = yaml("{apiVersion: a/v1, kind: B, metadata: {name: x}, a: {}, b: {c: d}}");
    EXPECT_TRUE(conform(object, *made.root, "B")) << text;
    apply_defaults(object, *made.root);
  }
}

}  // namespace
}  // namespace yard
