#include "api/crd/constraints.h"

#include <re2/re2.h>

#include "api/tree.h"

namespace yard {
namespace {

constexpr int kMaxDepth =
    100;  // as deep as a definition may be (apiextensions/structural_schema.cpp)

std::optional<double> number_at(const Json& schema, std::string_view key) {
  const Json* value = find(schema, key);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* whole = value->if_int64()) return static_cast<double>(*whole);
  if (const uint64_t* large = value->if_uint64()) return static_cast<double>(*large);
  if (const double* real = value->if_double()) return *real;
  return std::nullopt;
}

std::optional<int64_t> count_at(const Json& schema, std::string_view key) {
  const Json* value = find(schema, key);
  const int64_t* count = value == nullptr ? nullptr : value->if_int64();
  return count == nullptr ? std::nullopt : std::optional(*count);
}

std::vector<std::string> texts_at(const Json& schema, std::string_view key) {
  std::vector<std::string> out;
  for (const Json& item : list_at(schema, {key}))
    out.emplace_back(text_of(item));
  return out;
}

Constraints::Type type_of(const Json& schema) {
  using Type = Constraints::Type;
  if (bool_at(schema, {"x-kubernetes-int-or-string"})) return Type::IntOrString;
  const std::string_view name = text_at(schema, {"type"});
  if (name == "object") return Type::Object;
  if (name == "array") return Type::Array;
  if (name == "string") return Type::String;
  if (name == "integer") return Type::Integer;
  if (name == "number") return Type::Number;
  if (name == "boolean") return Type::Boolean;
  return Type::Any;
}

std::shared_ptr<const re2::RE2> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(int64_t{32} << 20);
  auto compiled =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  return compiled->ok() ? compiled : nullptr;
}

ConstraintsPtr compile(const Json& schema, int depth);

std::vector<ConstraintsPtr> compile_all(const JsonArray& schemas, int depth) {
  std::vector<ConstraintsPtr> out;
  for (const Json& schema : schemas) {
    if (ConstraintsPtr compiled = compile(schema, depth)) out.push_back(std::move(compiled));
  }
  return out;
}

void compile_values(Constraints& out, const Json& schema) {
  out.type = type_of(schema);
  out.nullable = bool_at(schema, {"nullable"});
  out.embedded_resource = bool_at(schema, {"x-kubernetes-embedded-resource"});
  out.format = text_at(schema, {"format"});
  for (const Json& value : list_at(schema, {"enum"}))
    out.allowed.push_back(value);
  out.minimum = number_at(schema, "minimum");
  out.maximum = number_at(schema, "maximum");
  out.multiple_of = number_at(schema, "multipleOf");
  out.exclusive_minimum = bool_at(schema, {"exclusiveMinimum"});
  out.exclusive_maximum = bool_at(schema, {"exclusiveMaximum"});
  out.min_length = count_at(schema, "minLength");
  out.max_length = count_at(schema, "maxLength");
  out.min_items = count_at(schema, "minItems");
  out.max_items = count_at(schema, "maxItems");
  out.min_properties = count_at(schema, "minProperties");
  out.max_properties = count_at(schema, "maxProperties");
  out.pattern = text_at(schema, {"pattern"});
  if (!out.pattern.empty()) out.matcher = compile_pattern(out.pattern);
  out.required = texts_at(schema, "required");
}

ConstraintsPtr compile(const Json& schema, int depth) {
  if (!schema.is_object() || depth > kMaxDepth) return nullptr;
  auto out = std::make_shared<Constraints>();
  compile_values(*out, schema);
  for (const auto& [name, property] : map_at(schema, {"properties"})) {
    if (ConstraintsPtr compiled = compile(property, depth + 1)) {
      out->properties.emplace(name, std::move(compiled));
    }
  }
  if (const Json* values = find(schema, "additionalProperties")) {
    out->additional_properties = compile(*values, depth + 1);
  }
  if (const Json* items = find(schema, "items")) out->items = compile(*items, depth + 1);
  const std::string_view list_type = text_at(schema, {"x-kubernetes-list-type"});
  if (list_type == "set") out->list_rule = Constraints::ListRule::Set;
  if (list_type == "map") out->list_rule = Constraints::ListRule::Map;
  out->list_keys = texts_at(schema, "x-kubernetes-list-map-keys");
  out->all_of = compile_all(list_at(schema, {"allOf"}), depth + 1);
  out->any_of = compile_all(list_at(schema, {"anyOf"}), depth + 1);
  out->one_of = compile_all(list_at(schema, {"oneOf"}), depth + 1);
  if (const Json* refused = find(schema, "not")) out->none_of = compile(*refused, depth + 1);
  return out;
}

}  // namespace

ConstraintsPtr compile_constraints(const Json& json_schema) {
  ConstraintsPtr compiled = compile(json_schema, 0);
  return compiled != nullptr ? compiled : std::make_shared<const Constraints>();
}

}  // namespace yard
