#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "api/apiextensions/crd_rules.h"

namespace yard {

namespace {

constexpr int kMaxDepth = 100;  // deeper schemas are refused rather than walked

class StructuralWalk {
 public:
  explicit StructuralWalk(FieldErrors& errors) : errors_(errors) {}

  void root(const FieldPath& path, const Json& schema) {
    if (text_at(schema, {"type"}) != "object") {
      if (text_at(schema, {"type"}).empty()) {
        errors_.push_back(required(path.child("type"), "must not be empty at the root"));
      } else {
        errors_.push_back(
            invalid(path.child("type"), schema.at("type"), "must be object at the root"));
      }
    }
    node(path, schema, Place{.is_root = true});
  }

 private:
  struct Place {
    int depth = 0;
    bool is_root = false;
  };

  void node(const FieldPath& path, const Json& schema, Place place) {
    if (!schema.is_object()) return;
    if (place.depth > kMaxDepth) {
      errors_.push_back(forbidden(path, "is nested too deep"));
      return;
    }
    check_type(path, schema, place);
    check_unsupported(path, schema);
    check_pattern(path, schema);
    check_list_type(path, schema);
    check_junctors(path, schema);
    Place below{.depth = place.depth + 1};
    for (const auto& [name, property] : map_at(schema, {"properties"})) {
      FieldPath at = path.child("properties").key(name);
      if (place.is_root && name == "metadata") {
        check_metadata(at, property);
      } else {
        node(at, property, below);
      }
    }
    if (const Json* values = find(schema, "additionalProperties")) {
      node(path.child("additionalProperties"), *values, below);
    }
    if (const Json* items = find(schema, "items")) node(path.child("items"), *items, below);
  }

  void check_type(const FieldPath& path, const Json& schema, Place place) {
    static const std::vector<std::string> kTypes{"array",  "boolean", "integer",
                                                 "number", "object",  "string"};
    std::string_view type = text_at(schema, {"type"});
    bool int_or_string = bool_at(schema, {"x-kubernetes-int-or-string"});
    bool any = bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
    if (type.empty()) {
      if (!int_or_string && !any && !place.is_root) {
        errors_.push_back(
            required(path.child("type"), "must not be empty for specified object fields"));
      }
      return;
    }
    if (std::ranges::find(kTypes, type) == kTypes.end()) {
      errors_.push_back(not_supported(path.child("type"), Json(type), kTypes));
    } else if (type == "array" && find(schema, "items") == nullptr) {
      errors_.push_back(required(path.child("items"), "must be specified"));
    }
    check_embedded(path, schema, type, any);
    if (place.is_root && find(schema, "additionalProperties") != nullptr)
      errors_.push_back(
          forbidden(path.child("additionalProperties"), "must not be used at the root"));
    if (any && type != "object") {
      errors_.push_back(invalid(path.child("type"), Json(type),
                                "must be object if x-kubernetes-preserve-unknown-fields is true"));
    }
  }

  void check_embedded(const FieldPath& path, const Json& schema, std::string_view type, bool any) {
    if (!bool_at(schema, {"x-kubernetes-embedded-resource"})) return;
    if (type != "object")
      errors_.push_back(invalid(path.child("type"), Json(type),
                                "must be object if x-kubernetes-embedded-resource is true"));
    if (!any && map_at(schema, {"properties"}).empty())
      errors_.push_back(
          required(path.child("properties"),
                   "must not be empty if x-kubernetes-embedded-resource is true without "
                   "x-kubernetes-preserve-unknown-fields"));
  }

  void check_unsupported(const FieldPath& path, const Json& schema) {
    if (find(schema, "$ref") != nullptr) {
      errors_.push_back(forbidden(path.child("$ref"), "$ref is not supported"));
    }
    if (bool_at(schema, {"uniqueItems"})) {
      errors_.push_back(
          forbidden(path.child("uniqueItems"),
                    "uniqueItems cannot be set to true since the runtime complexity becomes "
                    "quadratic"));
    }
    for (const char* member : {"definitions", "dependencies", "patternProperties"}) {
      if (map_at(schema, {member}).empty()) continue;
      errors_.push_back(forbidden(path.child(member), fmt::format("{} is not supported", member)));
    }
    const Json* values = find(schema, "additionalProperties");
    if (values == nullptr) return;
    FieldPath at = path.child("additionalProperties");
    if (!map_at(schema, {"properties"}).empty()) {
      errors_.push_back(forbidden(at, "additionalProperties and properties are mutual exclusive"));
    }
  }

  void check_pattern(const FieldPath& path, const Json& schema) {
    std::string_view pattern = text_at(schema, {"pattern"});
    if (pattern.empty()) return;
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    re2::RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), quiet);
    // A pattern that only exceeds our budget is legal elsewhere: it is ignored, with a warning.
    if (compiled.ok() || compiled.error_code() == re2::RE2::ErrorPatternTooLarge) return;
    errors_.push_back(
        invalid(path.child("pattern"), Json(pattern),
                "must be a valid regular expression, but isn't: " + compiled.error()));
  }

  void check_list_type(const FieldPath& path, const Json& schema) {
    std::string_view list_type = text_at(schema, {"x-kubernetes-list-type"});
    const JsonArray& keys = list_at(schema, {"x-kubernetes-list-map-keys"});
    if (list_type.empty() && keys.empty()) return;
    check_one_of(errors_, path.child("x-kubernetes-list-type"),
                 find(schema, "x-kubernetes-list-type"), {"atomic", "set", "map"});
    if (!list_type.empty() && text_at(schema, {"type"}) != "array") {
      errors_.push_back(invalid(path.child("type"), Json(text_at(schema, {"type"})),
                                "must be array if x-kubernetes-list-type is specified"));
    }
    if (list_type == "set") check_set_items(path.child("items"), find(schema, "items"));
    if (list_type != "map") {
      if (!keys.empty()) {
        errors_.push_back(forbidden(path.child("x-kubernetes-list-map-keys"),
                                    "must not be specified for this list type"));
      }
      return;
    }
    if (keys.empty()) {
      errors_.push_back(required(path.child("x-kubernetes-list-map-keys"),
                                 "must not be empty if x-kubernetes-list-type is map"));
    }
    const auto is_unknown = [&](const Json& key) {
      return find_path(schema, {"items", "properties", text_of(key)}) == nullptr;
    };
    if (std::ranges::any_of(keys, is_unknown))
      errors_.push_back(invalid(path.child("x-kubernetes-list-map-keys"), Json(keys),
                                "entries must all be names of item properties"));
    for (size_t i = 0; i < keys.size(); ++i)
      check_map_key(path, schema, keys, i);
  }

  // Members of a set are compared whole.
  void check_set_items(const FieldPath& path, const Json* items) {
    if (items == nullptr) return;
    const std::string_view type = text_at(*items, {"type"});
    if (type != "object" && type != "array") return;
    const char* member = type == "object" ? "x-kubernetes-map-type" : "x-kubernetes-list-type";
    if (text_at(*items, {member}) == "atomic") return;
    const Json* given = find(*items, member);
    errors_.push_back(invalid(path.child(member), given != nullptr ? *given : Json(),
                              "must be atomic as item of a list with x-kubernetes-list-type=set"));
  }

  void check_map_key(const FieldPath& path, const Json& schema, const JsonArray& keys, size_t i) {
    std::string_view key = text_of(keys[i]);
    FieldPath at = path.child("x-kubernetes-list-map-keys").index(i);
    auto is_key = [&](const Json& other) { return text_of(other) == key; };
    if (std::find_if(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(i), is_key) !=
        keys.begin() + static_cast<ptrdiff_t>(i)) {
      errors_.push_back(duplicate(at, Json(key)));
    }
    const Json* property = find_path(schema, {"items", "properties", key});
    if (property == nullptr) return;  // told already
    std::string_view type = text_at(*property, {"type"});
    if (type == "object" || type == "array") {
      errors_.push_back(invalid(path.child("items").child("properties").key(key).child("type"),
                                Json(type),
                                "must be a scalar type if parent array's x-kubernetes-list-type "
                                "is map"));
    }
    const JsonArray& required_names = list_at(schema, {"items", "required"});
    bool is_required = std::ranges::any_of(required_names, is_key);
    if (!is_required && find(*property, "default") == nullptr) {
      errors_.push_back(
          required(path.child("items").child("properties").key(key).child("default"),
                   "this property is in x-kubernetes-list-map-keys, so it must have a default or "
                   "be a required property"));
    }
  }

  // Inside allOf, anyOf, oneOf and not, a schema may only narrow what the structure already says.
  void check_junctors(const FieldPath& path, const Json& schema) {
    for (const char* member : {"allOf", "anyOf", "oneOf"}) {
      const JsonArray& alternatives = list_at(schema, {member});
      for (size_t i = 0; i < alternatives.size(); ++i) {
        narrowing(path.child(member).index(i), alternatives[i], {path, &schema}, 0);
      }
    }
    if (const Json* refused = find(schema, "not"))
      narrowing(path.child("not"), *refused, {path, &schema}, 0);
  }

  // What the structure says at the place that is narrowed.
  struct Narrowed {
    FieldPath path;
    const Json* schema;
    Narrowed below(const char* member, std::string_view name = "") const {
      const FieldPath at = path.child(member);
      if (name.empty()) return {at, schema != nullptr ? find(*schema, member) : nullptr};
      return {at.key(name), schema != nullptr ? find_path(*schema, {member, name}) : nullptr};
    }
  };

  void narrowing(const FieldPath& path, const Json& schema, const Narrowed& structure, int depth) {
    if (structure.schema == nullptr && depth > 0 && schema.is_object())
      errors_.push_back(
          required(structure.path, fmt::format("because it is defined in {}", path.text())));
    if (!schema.is_object() || depth > kMaxDepth) return;
    bool type_allowed = bool_at(schema, {"x-kubernetes-int-or-string"});
    for (const char* member : {"type", "default", "description", "title", "nullable",
                               "additionalProperties", "example"}) {
      if (same(find(schema, member), nullptr)) continue;
      if (std::string_view(member) == "type" && (type_allowed || is_int_or_string(schema)))
        continue;
      const char* wanted = std::string_view(member) == "default" ? "undefined" : "empty";
      errors_.push_back(
          forbidden(path.child(member), fmt::format("must be {} to be structural", wanted)));
    }
    for (const auto& [name, value] : schema.get_object()) {
      if (!std::string_view(name).starts_with("x-kubernetes-")) continue;
      if (name == "x-kubernetes-validations" || (value.is_bool() && !value.get_bool())) continue;
      errors_.push_back(forbidden(path.child(name), "must be false to be structural"));
    }
    for (const auto& [name, property] : map_at(schema, {"properties"})) {
      narrowing(path.child("properties").key(name), property, structure.below("properties", name),
                depth + 1);
    }
    if (const Json* items = find(schema, "items")) {
      narrowing(path.child("items"), *items, structure.below("items"), depth + 1);
    }
  }

  // The pattern `anyOf: [{type: integer}, {type: string}]` is how int-or-string used to be said.
  static bool is_int_or_string(const Json& schema) {
    std::string_view type = text_at(schema, {"type"});
    return schema.get_object().size() == 1 && (type == "integer" || type == "string");
  }

  void check_metadata(const FieldPath& path, const Json& metadata) {
    std::string_view type = text_at(metadata, {"type"});
    if (!type.empty() && type != "object") {
      errors_.push_back(invalid(path.child("type"), Json(type), "must be object"));
    }
    for (const auto& entry : map_at(metadata, {"properties"})) {
      std::string_view name(entry.key());
      if (name == "name" || name == "generateName") continue;
      errors_.push_back(forbidden(path,
                                  "must not specify anything other than name and generateName, but "
                                  "metadata is implicitly specified"));
      return;
    }
  }

  FieldErrors& errors_;
};

}  // namespace

void check_structural_schema(FieldErrors& errors, const FieldPath& path, const Json& schema) {
  if (schema.is_object()) StructuralWalk(errors).root(path, schema);
}

}  // namespace yard
