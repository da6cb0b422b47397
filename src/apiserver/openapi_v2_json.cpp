// The v2 document as JSON: what the v3 documents say, in the words of Swagger 2.0. What those lack
// (oneOf, nullable, defaults) is left out, as upstream leaves it out for kubectl's sake.

#include <algorithm>
#include <array>
#include <set>

#include "apiserver/openapi_v2.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr std::string_view kV3References = "#/components/schemas/";
constexpr std::string_view kV2References = "#/definitions/";
constexpr int kDeepestSchema = 128;

constexpr std::array<std::string_view, 18> kCopied = {"description",
                                                      "format",
                                                      "title",
                                                      "required",
                                                      "enum",
                                                      "pattern",
                                                      "minimum",
                                                      "maximum",
                                                      "minLength",
                                                      "maxLength",
                                                      "minItems",
                                                      "maxItems",
                                                      "exclusiveMinimum",
                                                      "exclusiveMaximum",
                                                      "multipleOf",
                                                      "uniqueItems",
                                                      "minProperties",
                                                      "maxProperties"};

std::string v2_reference(const Json* reference) {
  if (reference == nullptr || !reference->is_string()) return "";
  const std::string_view text = reference->get_string();
  if (!text.starts_with(kV3References)) return "";
  return std::string(kV2References) + std::string(text.substr(kV3References.size()));
}

// A schema that is nothing but a reference, perhaps with words beside it.
std::string reference_of(const JsonObject& schema) {
  const Json* all = schema.if_contains("allOf");
  if (all != nullptr && all->is_array() && all->get_array().size() == 1 &&
      all->get_array()[0].is_object())
    return v2_reference(all->get_array()[0].get_object().if_contains("$ref"));
  return v2_reference(schema.if_contains("$ref"));
}

bool says(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Json v2_schema(const Json& schema, int depth) {
  if (!schema.is_object() || depth > kDeepestSchema) return JsonObject();
  const JsonObject& from = schema.get_object();
  JsonObject out;
  if (const std::string reference = reference_of(from); !reference.empty()) {
    if (const Json* words = from.if_contains("description")) out["description"] = *words;
    out["$ref"] = reference;
    return out;
  }
  for (const std::string_view key : kCopied) {
    if (const Json* value = from.if_contains(key)) out[key] = *value;
  }
  // Whoever keeps unknown fields, or takes two types, must not be told of one.
  const bool open = says(from, "x-kubernetes-preserve-unknown-fields");
  if (open && depth == 0) {
    // As upstream: a kind that takes anything is an object of which nothing is said.
    JsonObject root{{"type", "object"}};
    if (const Json* type = from.if_contains("x-kubernetes-group-version-kind"))
      root["x-kubernetes-group-version-kind"] = *type;
    return root;
  }
  const bool untyped = open || says(from, "nullable") || says(from, "x-kubernetes-int-or-string");
  if (const Json* type = from.if_contains("type"); type != nullptr && !untyped) out["type"] = *type;
  if (const Json* items = from.if_contains("items"); items != nullptr && !open)
    out["items"] = v2_schema(*items, depth + 1);
  if (const Json* properties = from.if_contains("properties");
      properties != nullptr && properties->is_object() && !open) {
    JsonObject members;
    for (const auto& member : properties->get_object())
      members[member.key()] = v2_schema(member.value(), depth + 1);
    out["properties"] = std::move(members);
  }
  if (const Json* values = from.if_contains("additionalProperties"); values != nullptr && !open)
    out["additionalProperties"] =
        values->is_object() ? v2_schema(*values, depth + 1) : Json(*values);
  for (const auto& member : from) {
    if (member.key().starts_with("x-kubernetes-")) out[member.key()] = member.value();
  }
  return out;
}

// A parameter's schema is the parameter itself in the second version.
Json v2_parameter(const Json& parameter) {
  if (!parameter.is_object()) return JsonObject();
  JsonObject out;
  for (const auto& member : parameter.get_object()) {
    if (member.key() != "schema") out[member.key()] = member.value();
  }
  if (const Json* schema = find(parameter, "schema"); schema != nullptr && schema->is_object()) {
    for (const auto& member : schema->get_object())
      out[member.key()] = member.value();
  }
  return out;
}

JsonArray v2_parameters(const Json& owner) {
  JsonArray out;
  const Json* parameters = find(owner, "parameters");
  if (parameters == nullptr || !parameters->is_array()) return out;
  for (const Json& parameter : parameters->get_array())
    out.push_back(v2_parameter(parameter));
  return out;
}

// The reference of the first content there is: they are all the same.
std::string content_reference(const Json& body) {
  const Json* content = find(body, "content");
  if (content == nullptr || !content->is_object()) return "";
  for (const auto& member : content->get_object()) {
    if (const Json* schema = find(member.value(), "schema"))
      if (schema->is_object()) return reference_of(schema->get_object());
  }
  return "";
}

Json v2_operation(const Json& operation) {
  JsonObject out{{"consumes", JsonArray{"*/*"}},
                 {"produces", JsonArray{"application/json", "application/yaml"}},
                 {"schemes", JsonArray{"https"}}};
  JsonArray parameters = v2_parameters(operation);
  if (const Json* body = find(operation, "requestBody")) {
    const std::string reference = content_reference(*body);
    JsonObject schema{{"type", "object"}};
    if (!reference.empty()) schema = JsonObject{{"$ref", reference}};
    parameters.push_back(
        JsonObject{{"in", "body"}, {"name", "body"}, {"required", true}, {"schema", schema}});
  }
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  JsonObject answer{{"description", "OK"}};
  if (const Json* good = find_path(operation, {"responses", "200"})) {
    const std::string reference = content_reference(*good);
    if (!reference.empty()) answer["schema"] = JsonObject{{"$ref", reference}};
  }
  out["responses"] =
      JsonObject{{"200", std::move(answer)}, {"401", JsonObject{{"description", "Unauthorized"}}}};
  for (const char* key : {"x-kubernetes-action", "x-kubernetes-group-version-kind"}) {
    if (const Json* value = find(operation, key)) out[key] = *value;
  }
  return out;
}

void add_paths(const Json& document, JsonObject& paths) {
  const Json* given = find(document, "paths");
  if (given == nullptr || !given->is_object()) return;
  for (const auto& path : given->get_object()) {
    JsonObject item;
    for (const char* method : {"get", "put", "post", "patch", "delete"}) {
      if (const Json* operation = find(path.value(), method))
        item[method] = v2_operation(*operation);
    }
    JsonArray parameters = v2_parameters(path.value());
    if (!parameters.empty()) item["parameters"] = std::move(parameters);
    paths[path.key()] = std::move(item);
  }
}

}  // namespace

std::string openapi_v2_json(std::span<const std::shared_ptr<const std::string>> v3_documents) {
  JsonObject paths, definitions;
  for (const auto& text : v3_documents) {
    const auto document = parse_json(*text);
    if (!document) continue;
    add_paths(document->value, paths);
    const Json* schemas = find_path(document->value, {"components", "schemas"});
    if (schemas == nullptr || !schemas->is_object()) continue;
    for (const auto& member : schemas->get_object()) {
      if (!definitions.contains(member.key()))
        definitions[member.key()] = v2_schema(member.value(), 0);
    }
  }
  return to_text(JsonObject{{"swagger", "2.0"},
                            {"info", JsonObject{{"title", "Kubernetes"}, {"version", "v1.34.0"}}},
                            {"paths", std::move(paths)},
                            {"definitions", std::move(definitions)},
                            {"securityDefinitions",
                             JsonObject{{"BearerToken", JsonObject{{"type", "apiKey"},
                                                                   {"name", "authorization"},
                                                                   {"in", "header"},
                                                                   {"description",
                                                                    "Bearer Token "
                                                                    "authentication"}}}}},
                            {"security", JsonArray{JsonObject{{"BearerToken", JsonArray()}}}}}) +
         "\n";
}

}  // namespace yard
