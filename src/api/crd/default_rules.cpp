#include "api/crd/default_rules.h"

#include "api/crd/constraints.h"
#include "api/crd/custom_schema.h"
#include "api/schema/decode.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr int kMaxDepth = 100;
constexpr size_t kMostErrors = 50;

void check_default(FieldErrors& errors, const FieldPath& path, const Json& schema,
                   const Json& value) {
  // Judged as the one member of an object, since that is what defaults are.
  const Json around =
      JsonObject{{"type", "object"}, {"properties", JsonObject{{"default", schema}}}};
  const CustomSchema compiled = compile_custom_schema(around);
  Json object = JsonObject{{"default", value}};
  const auto findings = conform(object, *compiled.root, "default");
  if (!findings || !findings->unknown_fields.empty()) {
    errors.push_back(invalid(path.child("default"), value, "must not have unknown fields"));
    return;
  }
  apply_defaults(object, *compiled.root);
  for (Cause& cause : validate_custom(object, *compiled.root->constraints)) {
    cause.field = path.child(cause.field).text();
    errors.push_back(std::move(cause));
  }
}

void walk(FieldErrors& errors, const FieldPath& path, const Json& schema, int depth) {
  if (!schema.is_object() || depth > kMaxDepth || errors.size() > kMostErrors) return;
  if (const Json* value = find(schema, "default"); value != nullptr && !value->is_null()) {
    check_default(errors, path, schema, *value);
  }
  for (const auto& [name, property] : map_at(schema, {"properties"})) {
    walk(errors, path.child("properties").key(name), property, depth + 1);
  }
  for (const char* member : {"items", "additionalProperties"}) {
    if (const Json* below = find(schema, member))
      walk(errors, path.child(member), *below, depth + 1);
  }
}

}  // namespace

void check_schema_defaults(FieldErrors& errors, const FieldPath& path, const Json& openapi_schema) {
  walk(errors, path, openapi_schema, 0);
}

}  // namespace yard
