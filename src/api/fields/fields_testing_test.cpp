// The shared helpers themselves: a *_test.cpp so that they stay out of the library.

#include "api/fields/fields_testing.h"

#include "base/check.h"

namespace yard::fields_testing {
namespace {

// Builds a custom resource's schema the way a CRD version would.
struct WidgetBuilder {
  SchemaCatalogue catalogue;
  const Schema* root;

  WidgetBuilder() {
    Schema* port = object({{"p", leaf(Schema::Type::Integer)}, {"q", text_with_default("z")}});
    Schema* ports = list(port, Schema::ListType::Map);
    ports->list_keys = {"p"};
    Schema* any = catalogue.add();
    any->type = Schema::Type::Any;
    any->preserve_unknown = true;
    Schema* spec = object({{"name", leaf(Schema::Type::String)},
                           {"replicas", leaf(Schema::Type::Integer)},
                           {"ports", ports},
                           {"tags", list(leaf(Schema::Type::String), Schema::ListType::Set)},
                           {"free", any}});
    Schema* condition = object({{"type", leaf(Schema::Type::String)}});
    Schema* status = object({{"replicas", leaf(Schema::Type::Integer)},
                             {"conditions", list(condition, Schema::ListType::Atomic)}});
    root = object({{"apiVersion", leaf(Schema::Type::String)},
                   {"kind", leaf(Schema::Type::String)},
                   {"metadata", builtin_schemas().find("meta.v1.ObjectMeta")},
                   {"spec", spec},
                   {"status", status}});
  }

  Schema* leaf(Schema::Type type) {
    Schema* node = catalogue.add();
    node->type = type;
    return node;
  }

  Schema* text_with_default(const char* value) {
    Schema* node = leaf(Schema::Type::String);
    node->default_value = value;
    return node;
  }

  Schema* list(const Schema* items, Schema::ListType type) {
    Schema* node = leaf(Schema::Type::List);
    node->items = items;
    node->list_type = type;
    return node;
  }

  Schema* object(std::initializer_list<std::pair<const char*, const Schema*>> members) {
    Schema* node = leaf(Schema::Type::Struct);
    for (const auto& [name, schema] : members) {
      Field field;
      field.name = name;
      field.schema = schema;
      node->fields.push_back(field);
    }
    node->finish();
    return node;
  }
};

}  // namespace

Json json(std::string_view text) {
  return parse_json(text).value().value;
}

const Schema& widget_schema() {
  static const WidgetBuilder widget;
  return *widget.root;
}

const Schema& built_in(std::string_view name) {
  const Schema* schema = builtin_schemas().find(name);
  check(schema != nullptr, "the test names a built-in type");
  return *schema;
}

FieldWriter writer(std::string_view manager, std::string_view api_version, int64_t seconds,
                   std::string_view subresource) {
  return {std::string(manager), std::string(api_version), std::string(subresource),
          from_unix_seconds(seconds)};
}

std::string owners(const Json& object) {
  std::string lines;
  const Json* list = find_path(object, {"metadata", "managedFields"});
  if (list == nullptr) return "none";
  for (const Json& entry : list->get_array()) {
    if (!lines.empty()) lines += '\n';
    lines += text_at(entry, {"manager"});
    lines += ' ';
    lines += text_at(entry, {"operation"});
    if (find(entry, "subresource") != nullptr) {
      lines += ' ';
      lines += text_at(entry, {"subresource"});
    }
    lines += ": " + to_text(*find(entry, "fieldsV1"));
  }
  return lines;
}

std::string owned(const Json& object, std::string_view manager, std::string_view operation,
                  std::string_view subresource) {
  const Json* list = find_path(object, {"metadata", "managedFields"});
  if (list == nullptr) return "none";
  for (const Json& entry : list->get_array()) {
    if (text_at(entry, {"manager"}) == manager && text_at(entry, {"operation"}) == operation &&
        text_at(entry, {"subresource"}) == subresource) {
      return to_text(*find(entry, "fieldsV1"));
    }
  }
  return "none";
}

}  // namespace yard::fields_testing
