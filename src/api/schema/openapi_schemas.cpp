#include "api/schema/openapi_schemas.h"

#include "base/check.h"

namespace yard {
namespace {

constexpr std::string_view kTime = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
constexpr std::string_view kMicroTime = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
constexpr std::string_view kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
constexpr std::string_view kIntOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
constexpr std::string_view kFieldsV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
constexpr std::string_view kReferencePrefix = "#/components/schemas/";

std::string_view leaf_schema(std::string_view full_name) {
  if (full_name == kQuantity) {
    return R"({"description":"An amount: digits with a suffix such as m, k, M, Gi.","oneOf":[{"type":"string"},{"type":"number"}]})";
  }
  if (full_name == kIntOrString) {
    return R"({"description":"A number or a text.","format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]})";
  }
  if (full_name == kFieldsV1) {
    return R"({"description":"A set of fields, as a tree of their names.","type":"object"})";
  }
  if (full_name == kMicroTime) {
    return R"({"description":"A point in time, to the microsecond.","type":"string","format":"date-time"})";
  }
  return R"({"description":"A point in time, to the second.","type":"string","format":"date-time"})";
}

void write_text_member(std::string& out, std::string_view key, std::string_view text) {
  out += ",\"";
  out += key;
  out += "\":";
  append_quoted(out, text);
}

void write_gvk(std::string& out, const OpenApiKind& kind) {
  out += R"(,"x-kubernetes-group-version-kind":[{"group":)";
  append_quoted(out, kind.group);
  write_text_member(out, "version", kind.version);
  write_text_member(out, "kind", kind.kind);
  out += "}]";
}

void write_patch_strategy(std::string& out, const Schema& schema) {
  if (schema.patch_merge || schema.retain_keys || schema.patch_replace) {
    const char* strategy = schema.patch_replace  ? "replace"
                           : !schema.retain_keys ? "merge"
                           : schema.patch_merge  ? "merge,retainKeys"
                                                 : "retainKeys";
    write_text_member(out, "x-kubernetes-patch-strategy", strategy);
  }
  if (!schema.patch_merge_key.empty()) {
    write_text_member(out, "x-kubernetes-patch-merge-key", schema.patch_merge_key);
  }
}

}  // namespace

void OpenApiSchemas::write(std::string& out, std::span<const OpenApiKind> kinds) {
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ',';
    first = false;
  };
  // Marked first, so that a kind another refers to is written once, with its group, version and
  // kind.
  for (const OpenApiKind& kind : kinds) {
    if (!kind.custom) seen_.insert(kind.schema->name);
  }
  for (const OpenApiKind& kind : kinds) {
    separate();
    write_kind(out, kind);
  }
  while (!waiting_.empty()) {
    const Schema* schema = waiting_.back();
    waiting_.pop_back();
    separate();
    append_quoted(out, openapi_name(schema->name));
    out += ':';
    write_struct(out, *schema, nullptr);
  }
  for (const std::string_view leaf : leaves_) {
    separate();
    append_quoted(out, leaf);
    out += ':';
    out += leaf_schema(leaf);
  }
}

void OpenApiSchemas::write_kind(std::string& out, const OpenApiKind& kind) {
  append_quoted(out, kind.custom ? openapi_name(kind.group, kind.version, kind.kind)
                                 : openapi_name(kind.schema->name));
  out += ':';
  if (kind.custom && kind.crd_schema != nullptr && kind.crd_schema->is_object()) {
    write_crd(out, kind);
  } else {
    write_struct(out, *kind.schema, &kind);
  }
}

// What every custom object has, whatever its author wrote.
constexpr std::string_view kCustomMembers =
    R"("apiVersion":{"type":"string","description":"APIVersion defines the group and version this object is written in."},)"
    R"("kind":{"type":"string","description":"What sort of object this is."},)"
    R"("metadata":{"description":"Standard object's metadata: its name, labels and owners, and what the server notes.",)";

void OpenApiSchemas::write_crd(std::string& out, const OpenApiKind& kind) {
  out += R"({"type":"object")";
  for (const auto& member : kind.crd_schema->get_object()) {
    if (member.key() == "type" || member.key() == "properties") continue;
    out += ',';
    append_quoted(out, member.key());
    out += ':';
    append_text(out, member.value());
  }
  out += R"(,"properties":{)";
  out += kCustomMembers;
  write_reference(out, *builtin_schemas().find("meta.v1.ObjectMeta"));
  out += '}';
  if (const Json* properties = find(*kind.crd_schema, "properties");
      properties != nullptr && properties->is_object()) {
    for (const auto& member : properties->get_object()) {
      const std::string_view name = member.key();
      if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
      out += ',';
      append_quoted(out, name);
      out += ':';
      append_text(out, member.value());
    }
  }
  out += '}';
  write_gvk(out, kind);
  out += '}';
}

void OpenApiSchemas::write_struct(std::string& out, const Schema& schema, const OpenApiKind* kind) {
  out += R"({"type":"object")";
  if (!schema.description.empty()) write_text_member(out, "description", schema.description);
  out += R"(,"properties":{)";
  bool first = true;
  if (kind != nullptr && kind->custom) {
    out += kCustomMembers;
    write_reference(out, *builtin_schemas().find("meta.v1.ObjectMeta"));
    out += '}';
    first = false;
    for (const Field& field : schema.fields) {
      if (field.name == "apiVersion" || field.name == "kind" || field.name == "metadata") continue;
      out += ',';
      append_quoted(out, field.name);
      out += ":{";
      write_node(out, *field.schema);
      out += '}';
    }
  } else {
    write_members(out, schema, first);
  }
  out += '}';
  write_required(out, schema);
  if (schema.builtin && schema.atomic) out += R"(,"x-kubernetes-map-type":"atomic")";
  if (kind != nullptr) write_gvk(out, *kind);
  out += '}';
}

void OpenApiSchemas::write_members(std::string& out, const Schema& schema, bool& first) {
  for (const Field& field : schema.fields) {
    if (field.inlined) {
      write_members(out, *field.schema, first);
      continue;
    }
    if (!first) out += ',';
    first = false;
    append_quoted(out, field.name);
    out += ":{";
    if (field.name == "fieldsV1") {
      write_leaf_reference(out, kFieldsV1);
    } else {
      write_node(out, *field.schema);
    }
    if (!field.description.empty()) write_text_member(out, "description", field.description);
    out += '}';
  }
}

void OpenApiSchemas::write_required(std::string& out, const Schema& schema) {
  bool any = false;
  const auto collect = [&](const auto& self, const Schema& owner) -> void {
    for (const Field& field : owner.fields) {
      if (field.inlined) self(self, *field.schema);
      if (!field.required || field.inlined) continue;
      out += any ? "," : R"(,"required":[)";
      any = true;
      append_quoted(out, field.name);
    }
  };
  collect(collect, schema);
  if (any) out += ']';
}

void OpenApiSchemas::write_node(std::string& out, const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::String: out += R"("type":"string")"; break;
    case Schema::Type::Integer:
      out += schema.bits == 32 ? R"("type":"integer","format":"int32")"
                               : R"("type":"integer","format":"int64")";
      break;
    case Schema::Type::Boolean: out += R"("type":"boolean")"; break;
    case Schema::Type::Number: out += R"("type":"number","format":"double")"; break;
    case Schema::Type::Bytes: out += R"("type":"string","format":"byte")"; break;
    case Schema::Type::Time: write_leaf_reference(out, kTime); break;
    case Schema::Type::MicroTime: write_leaf_reference(out, kMicroTime); break;
    case Schema::Type::Quantity: write_leaf_reference(out, kQuantity); break;
    case Schema::Type::IntOrString:
      if (schema.builtin) {
        write_leaf_reference(out, kIntOrString);
      } else {
        out +=
            R"("anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true)";
      }
      break;
    case Schema::Type::Struct:
      if (!schema.name.empty() && schema.builtin) {
        write_reference(out, schema);
      } else {
        std::string inner;
        write_struct(inner, schema, nullptr);
        out.append(inner, 1, inner.size() - 2);
      }
      break;
    case Schema::Type::Map: write_map(out, schema); break;
    case Schema::Type::List: write_list(out, schema); break;
    case Schema::Type::Any: out += R"("x-kubernetes-preserve-unknown-fields":true)"; break;
  }
  if (!schema.builtin) write_custom_words(out, schema);
}

void OpenApiSchemas::write_list(std::string& out, const Schema& schema) {
  out += R"("type":"array","items":{)";
  if (schema.items != nullptr) write_node(out, *schema.items);
  out += '}';
  switch (schema.list_type) {
    case Schema::ListType::Atomic: out += R"(,"x-kubernetes-list-type":"atomic")"; break;
    case Schema::ListType::Set: out += R"(,"x-kubernetes-list-type":"set")"; break;
    case Schema::ListType::Map:
      out += R"(,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[)";
      for (size_t i = 0; i < schema.list_keys.size(); ++i) {
        if (i > 0) out += ',';
        append_quoted(out, schema.list_keys[i]);
      }
      out += ']';
      break;
  }
  write_patch_strategy(out, schema);
}

void OpenApiSchemas::write_map(std::string& out, const Schema& schema) {
  out += R"("type":"object","additionalProperties":{)";
  if (schema.items != nullptr) write_node(out, *schema.items);
  out += '}';
  if (schema.atomic) out += R"(,"x-kubernetes-map-type":"atomic")";
}

void OpenApiSchemas::write_custom_words(std::string& out, const Schema& schema) {
  const bool is_struct = schema.type == Schema::Type::Struct;
  if (!schema.description.empty() && !is_struct)
    write_text_member(out, "description", schema.description);
  if (schema.atomic && is_struct) out += R"(,"x-kubernetes-map-type":"atomic")";
  if (schema.nullable) out += R"(,"nullable":true)";
  if (schema.preserve_unknown && schema.type != Schema::Type::Any) {
    out += R"(,"x-kubernetes-preserve-unknown-fields":true)";
  }
  if (schema.embedded_resource) out += R"(,"x-kubernetes-embedded-resource":true)";
  if (!schema.default_value.is_null()) {
    out += R"(,"default":)";
    append_text(out, schema.default_value);
  }
}

void OpenApiSchemas::write_reference(std::string& out, const Schema& schema) {
  // A field's own variant of a struct has the struct's name: the reference is to the struct itself.
  const Schema* common = builtin_schemas().find(schema.name);
  check(common != nullptr, "a named built-in schema is in the catalogue");
  if (seen_.insert(common->name).second) waiting_.push_back(common);
  out += R"("allOf":[{"$ref":")";
  out += kReferencePrefix;
  out += openapi_name(common->name);
  out += R"("}])";
  if (schema.atomic != common->atomic) {
    write_text_member(out, "x-kubernetes-map-type", schema.atomic ? "atomic" : "granular");
  }
  write_patch_strategy(out, schema);
}

void OpenApiSchemas::write_leaf_reference(std::string& out, std::string_view full_name) {
  leaves_.insert(full_name);
  out += R"("allOf":[{"$ref":")";
  out += kReferencePrefix;
  out += full_name;
  out += R"("}])";
}

}  // namespace yard
