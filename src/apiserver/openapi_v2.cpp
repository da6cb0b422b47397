#include "apiserver/openapi_v2.h"

#include <set>

#include <fmt/format.h>

#include "json/json.h"
#include "json/yaml.h"

namespace yard {
namespace {

// Field numbers of gnostic's OpenAPIv2.proto.
enum Number : uint32_t {
  kDocumentSwagger = 1,
  kDocumentInfo = 2,
  kDocumentPaths = 8,
  kDocumentDefinitions = 9,
  kInfoTitle = 1,
  kInfoVersion = 2,
  kPathsPath = 2,
  kNamedName = 1,
  kNamedValue = 2,
  kPathItemPatch = 8,
  kOperationParameters = 8,
  kOperationExtension = 13,
  kAnyYaml = 2,
  kItemParameter = 1,
  kParameterNonBody = 2,
  kNonBodyQuery = 3,
  kQueryIn = 2,
  kQueryName = 4,
  kQueryType = 6,
  kNamedSchemas = 1,  // of Definitions and Properties
  kSchemaReference = 1,
  kSchemaFormat = 2,
  kSchemaDescription = 4,
  kSchemaRequired = 19,
  kSchemaAdditionalProperties = 21,
  kSchemaType = 22,
  kSchemaItems = 23,
  kSchemaProperties = 25,
  kSchemaExtension = 31,
  kOneSchema = 1,  // of AdditionalPropertiesItem and ItemsItem
  kTypeValue = 1,
};

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

// A string or an embedded message: both are a length and bytes.
std::string field(Number number, std::string_view bytes) {
  std::string out = varint(static_cast<uint64_t>(number) << 3 | 2);
  out += varint(bytes.size());
  out += bytes;
  return out;
}

std::string query_parameter(std::string_view name) {
  const std::string query =
      field(kQueryIn, "query") + field(kQueryName, name) + field(kQueryType, "string");
  return field(kOperationParameters,
               field(kItemParameter, field(kParameterNonBody, field(kNonBodyQuery, query))));
}

std::string path_of(const Kind& kind) {
  const std::string base =
      kind.group.empty() ? "/api/" + kind.version : "/apis/" + kind.group + "/" + kind.version;
  return base + (kind.namespaced ? "/namespaces/{namespace}/" : "/") + kind.plural + "/{name}";
}

std::string path_item(const Kind& kind) {
  const std::string type =
      fmt::format("group: \"{}\"\nkind: {}\nversion: {}\n", kind.group, kind.kind, kind.version);
  const std::string extension = field(kNamedName, "x-kubernetes-group-version-kind") +
                                field(kNamedValue, field(kAnyYaml, type));
  const std::string patch = query_parameter("dryRun") + query_parameter("fieldManager") +
                            field(kOperationExtension, extension);
  return field(kPathsPath,
               field(kNamedName, path_of(kind)) + field(kNamedValue, field(kPathItemPatch, patch)));
}

constexpr std::string_view kV3References = "#/components/schemas/";
constexpr std::string_view kV2References = "#/definitions/";
constexpr int kDeepestSchema = 128;

std::string schema_message(const Json& schema, int depth);

std::string named_schemas(const JsonObject& schemas, int depth) {
  std::string out;
  for (const auto& member : schemas) {
    out += field(kNamedSchemas, field(kNamedName, member.key()) +
                                    field(kNamedValue, schema_message(member.value(), depth)));
  }
  return out;
}

// The reference of a schema that is nothing but one, perhaps with words beside it; "" for others.
std::string reference_of(const JsonObject& schema) {
  const auto target = [](const Json& node) {
    const Json* reference = node.is_object() ? find(node, "$ref") : nullptr;
    return reference != nullptr && reference->is_string() ? std::string(reference->get_string())
                                                          : std::string();
  };
  std::string out;
  if (const auto* all = schema.if_contains("allOf");
      all != nullptr && all->is_array() && all->get_array().size() == 1) {
    out = target(all->get_array()[0]);
  }
  if (!out.starts_with(kV3References)) return "";
  return std::string(kV2References) + out.substr(kV3References.size());
}

std::string text_field(Number number, const JsonObject& schema, std::string_view key) {
  const Json* text = schema.if_contains(key);
  return text != nullptr && text->is_string() ? field(number, text->get_string()) : std::string();
}

// What of the text of a v3 schema the second version has no words for (oneOf, nullable, defaults of
// references, rules) is left out: it is for people and for the check of names and types on the
// client's side.
std::string schema_message(const Json& schema, int depth) {
  if (!schema.is_object() || depth > kDeepestSchema) return "";
  const JsonObject& members = schema.get_object();
  std::string out;
  const std::string reference = reference_of(members);
  if (!reference.empty()) out += field(kSchemaReference, reference);
  out += text_field(kSchemaFormat, members, "format");
  out += text_field(kSchemaDescription, members, "description");
  // Whoever keeps unknown fields must not be told that they are unknown.
  const Json* open = members.if_contains("x-kubernetes-preserve-unknown-fields");
  const bool keeps_unknown = open != nullptr && open->is_bool() && open->get_bool();
  if (const Json* required = members.if_contains("required");
      required != nullptr && required->is_array()) {
    for (const Json& name : required->get_array()) {
      if (name.is_string()) out += field(kSchemaRequired, name.get_string());
    }
  }
  if (const Json* values = members.if_contains("additionalProperties");
      values != nullptr && values->is_object()) {
    out +=
        field(kSchemaAdditionalProperties, field(kOneSchema, schema_message(*values, depth + 1)));
  }
  if (const Json* type = members.if_contains("type");
      type != nullptr && type->is_string() && reference.empty() && !keeps_unknown) {
    out += field(kSchemaType, field(kTypeValue, type->get_string()));
  } else if (members.contains("oneOf") && type == nullptr) {
    // A number or a text: the second version calls them texts, and its clients take numbers for
    // those.
    out += field(kSchemaType, field(kTypeValue, "string"));
  }
  if (const Json* items = members.if_contains("items");
      items != nullptr && items->is_object() && !keeps_unknown) {
    out += field(kSchemaItems, field(kOneSchema, schema_message(*items, depth + 1)));
  }
  if (const Json* properties = members.if_contains("properties");
      properties != nullptr && properties->is_object() && !keeps_unknown) {
    out += field(kSchemaProperties, named_schemas(properties->get_object(), depth + 1));
  }
  for (const auto& member : members) {
    if (!member.key().starts_with("x-kubernetes-")) continue;
    out +=
        field(kSchemaExtension, field(kNamedName, member.key()) +
                                    field(kNamedValue, field(kAnyYaml, to_yaml(member.value()))));
  }
  return out;
}

// The schemas of every v3 document, each once: common ones are in many.
std::string definitions(std::span<const std::shared_ptr<const std::string>> v3_documents) {
  std::string out;
  std::set<std::string, std::less<>> seen;
  for (const auto& text : v3_documents) {
    const auto document = parse_json(*text);
    const Json* components = document ? find(document->value, "components") : nullptr;
    const Json* schemas = components != nullptr ? find(*components, "schemas") : nullptr;
    if (schemas == nullptr || !schemas->is_object()) continue;
    for (const auto& member : schemas->get_object()) {
      if (!seen.insert(std::string(member.key())).second) continue;
      out += field(kNamedSchemas, field(kNamedName, member.key()) +
                                      field(kNamedValue, schema_message(member.value(), 0)));
    }
  }
  return out;
}

}  // namespace

std::string openapi_v2_document(const KindTable& table,
                                std::span<const std::shared_ptr<const std::string>> v3_documents) {
  std::string paths;
  for (const KindPtr& kind : table.kinds()) {
    if (kind->allows("patch")) paths += path_item(*kind);
  }
  return field(kDocumentSwagger, "2.0") +
         field(kDocumentInfo, field(kInfoTitle, "Kubernetes") + field(kInfoVersion, "v1.34.0")) +
         field(kDocumentPaths, paths) + field(kDocumentDefinitions, definitions(v3_documents));
}

}  // namespace yard
