#include <gtest/gtest.h>

#include "api/crd/constraints.h"
#include "testing/objects.h"

namespace yard {
namespace {

// One property `x` of a schema, judged with a value.
struct Row {
  const char* about;
  const char* property;  // its schema, as YAML
  const char* value;     // of spec, as YAML
  const char* complaints;
};

class ValidateCustomTest : public testing::TestWithParam<Row> {};

TEST_P(ValidateCustomTest, SaysIt) {
  const Row& row = GetParam();
  const Json schema = JsonObject{
      {"type", "object"},
      {"properties",
       JsonObject{{"spec", JsonObject{{"type", "object"},
                                      {"properties", JsonObject{{"x", yaml(row.property)}}}}}}}};
  const ConstraintsPtr rules = compile_constraints(schema);
  EXPECT_EQ(told(validate_custom(JsonObject{{"spec", yaml(row.value)}}, *rules)), row.complaints)
      << row.about;
}

const Row kRows[] = {
    {"a value of the type", "type: integer", "x: 3", ""},
    {"a text for a number", "type: integer", "x: three",
     R"(spec.x: Invalid value: "string": spec.x in body must be of type integer: "string")"},
    {"a fraction for a whole number", "type: integer", "x: 1.5",
     R"(spec.x: Invalid value: "number": spec.x in body must be of type integer: "number")"},
    {"a whole number written with a point", "type: integer", "x: 2.0", ""},
    {"a number may be whole", "type: number", "x: 2", ""},
    {"null where it is not allowed", "type: string", "x: null",
     R"(spec.x: Invalid value: "null": spec.x in body must be of type string: "null")"},
    {"null where it is", "{type: string, nullable: true}", "x: null", ""},
    {"int-or-string takes an int", "x-kubernetes-int-or-string: true", "x: 3", ""},
    {"int-or-string takes a string", "x-kubernetes-int-or-string: true", "x: 50%", ""},
    {"int-or-string takes no list", "x-kubernetes-int-or-string: true", "x: []",
     R"(spec.x: Invalid value: "array": spec.x in body must be of type integer,string: "array")"},
    {"a word outside the enum", "{type: string, enum: [a, b]}", "x: z",
     R"(spec.x: Unsupported value: "z": supported values: "a", "b")"},
    {"a number of the enum", "{type: integer, enum: [1, 2]}", "x: 2", ""},
    {"below the minimum", "{type: integer, minimum: 0}", "x: -1",
     "spec.x: Invalid value: -1: spec.x in body should be greater than or equal to 0"},
    {"at an exclusive minimum", "{type: integer, minimum: 0, exclusiveMinimum: true}", "x: 0",
     "spec.x: Invalid value: 0: spec.x in body should be greater than 0"},
    {"above the maximum", "{type: number, maximum: 1.5}", "x: 2",
     "spec.x: Invalid value: 2: spec.x in body should be less than or equal to 1.5"},
    {"at an exclusive maximum", "{type: integer, maximum: 9, exclusiveMaximum: true}", "x: 9",
     "spec.x: Invalid value: 9: spec.x in body should be less than 9"},
    {"no multiple", "{type: integer, multipleOf: 4}", "x: 6",
     "spec.x: Invalid value: 6: spec.x in body should be a multiple of 4"},
    {"too long", "{type: string, maxLength: 5}", "x: abcdef",
     "spec.x: Too long: may not be more than 5 bytes"},
    {"five letters of two bytes", "{type: string, maxLength: 5}", "x: äöüßé", ""},
    {"too short", "{type: string, minLength: 1}", "x: ''",
     R"(spec.x: Invalid value: "": spec.x in body should be at least 1 chars long)"},
    {"another pattern", "{type: string, pattern: '^a+$'}", "x: ab",
     R"(spec.x: Invalid value: "ab": spec.x in body should match '^a+$')"},
    {"a pattern matches anywhere", "{type: string, pattern: b}", "x: abc", ""},
    {"a pattern that is none constrains nothing", "{type: string, pattern: '('}", "x: abc", ""},
    {"too many items", "{type: array, items: {type: string}, maxItems: 1}", "x: [a, b]",
     "spec.x: Too many: 2: must have at most 1 items"},
    {"too few items", "{type: array, items: {type: string}, minItems: 1}", "x: []",
     "spec.x: Invalid value: 0: spec.x in body should have at least 1 items"},
    {"an item of another type", "{type: array, items: {type: string}}", "x: [a, 1]",
     R"(spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer")"},
    {"too many members", "{type: object, maxProperties: 1, additionalProperties: {type: string}}",
     "x: {a: b, c: d}", "spec.x: Too many: 2: must have at most 1 items"},
    {"too few members", "{type: object, minProperties: 1}", "x: {}",
     "spec.x: Invalid value: 0: spec.x in body should have at least 1 properties"},
    {"a missing member", "{type: object, required: [name], properties: {name: {type: string}}}",
     "x: {}", "spec.x.name: Required value"},
    {"a value of a map", "{type: object, additionalProperties: {type: integer}}", "x: {a: b}",
     R"(spec.x.a: Invalid value: "string": spec.x.a in body must be of type integer: "string")"},
    {"a set twice", "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
     "x: [a, a]", R"(spec.x[1]: Duplicate value: "a")"},
    {"a key twice",
     "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [p], items: {type: "
     "object, properties: {p: {type: integer}}}}",
     "x: [{p: 1, q: 2}, {p: 1}]", R"(spec.x[1]: Duplicate value: {"p":1})"},
    {"a time", "{type: string, format: date-time}", "x: '2026-01-02T03:04:05Z'", ""},
    {"no time", "{type: string, format: date-time}", "x: soon",
     R"(spec.x: Invalid value: "soon": spec.x in body must be of type date-time: "soon")"},
    {"no address", "{type: string, format: ipv4}", "x: 1.2.3",
     R"(spec.x: Invalid value: "1.2.3": spec.x in body must be of type ipv4: "1.2.3")"},
    {"an unknown format", "{type: string, format: poem}", "x: soon", ""},
    {"the width of a number is not looked at", "{type: integer, format: int32}", "x: 3000000000",
     ""},
    {"none of several",
     "{type: object, properties: {a: {type: string}, b: {type: string}}, anyOf: [{required: [a]}, "
     "{required: [b]}]}",
     "x: {}",
     "<nil>: Invalid value: \"\": \"spec.x\" must validate at least one schema (anyOf)\nspec.x.a: "
     "Required value"},
    {"one of several",
     "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, "
     "{required: [b]}]}",
     "x: {a: yy}", ""},
    {"both of one",
     "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, "
     "{required: [b]}]}",
     "x: {a: yy, b: z}",
     R"(<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives)"},
    {"what must not be", "{type: string, not: {enum: [a]}}", "x: a",
     R"(<nil>: Invalid value: "": "spec.x" must not validate the schema (not))"},
    {"one of all", "{type: integer, allOf: [{minimum: 1}, {maximum: 3}]}", "x: 4",
     "spec.x: Invalid value: 4: spec.x in body should be less than or equal to 3\n<nil>: Invalid "
     "value: \"\": \"spec.x\" must validate all the schemas (allOf)"},
    {"an embedded object without its type",
     "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: "
     "true}",
     "x: {kind: Pod}", "spec.x.apiVersion: Required value"},
};

INSTANTIATE_TEST_SUITE_P(Rows, ValidateCustomTest, testing::ValuesIn(kRows));

TEST(ValidateCustomUpdate, ToleratesWhatWasWrongBefore) {
  const ConstraintsPtr rules = compile_constraints(yaml(R"(
type: object
properties:
  spec:
    type: object
    required: [must]
    properties:
      must: {type: string}
      old: {type: string, maxLength: 2}
      list:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [k]
        items: {type: object, properties: {k: {type: string}, v: {type: integer, maximum: 1}}}
)"));
  const Json live = yaml("spec: {must: x, old: long, list: [{k: a, v: 5}]}");
  EXPECT_EQ(
      told(validate_custom_update(
          yaml("spec: {must: yy, old: long, list: [{k: b, v: 0}, {k: a, v: 5}]}"), live, *rules)),
      "");
  EXPECT_EQ(
      told(validate_custom_update(yaml("spec: {must: yy, old: longer, list: [{k: a, v: 6}]}"), live,
                                  *rules)),
      "spec.old: Too long: may not be more than 2 bytes\n"
      "spec.list[0].v: Invalid value: 6: spec.list[0].v in body should be less than or equal to 1");
  EXPECT_EQ(told(validate_custom_update(yaml("spec: {old: long}"), live, *rules)),
            "spec.must: Required value");
}

}  // namespace
}  // namespace yard
