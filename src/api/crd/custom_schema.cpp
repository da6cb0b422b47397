#include "api/crd/custom_schema.h"

#include <algorithm>

#include "api/crd/constraints.h"
#include "api/tree.h"
#include "base/check.h"

namespace yard {
namespace {

constexpr int kMaxDepth = 100;  // as deep as a definition may be

class Compiler {
 public:
  explicit Compiler(SchemaCatalogue& catalogue) : catalogue_(catalogue) {}

  const Schema* root(const Json& source) {
    Schema* made = catalogue_.add();
    made->type = Schema::Type::Struct;
    made->description = text_at(source, {"description"});
    made->preserve_unknown = preserves(source);
    made->constraints = compile_constraints(source);
    for (const char* name : {"apiVersion", "kind"}) {
      Schema* text = catalogue_.add();
      text->type = Schema::Type::String;
      add_field(*made, name, text);
    }
    const Schema* metadata = builtin_schemas().find("meta.v1.ObjectMeta");
    check(metadata != nullptr, "the schema of metadata is built in");
    add_field(*made, "metadata", metadata);
    add_properties(*made, source, 0);
    made->finish();
    return made;
  }

 private:
  static bool preserves(const Json& source) {
    return bool_at(source, {"x-kubernetes-preserve-unknown-fields"});
  }

  static void add_field(Schema& owner, std::string_view name, const Schema* schema) {
    Field field;
    field.name = name;
    field.schema = schema;
    field.description = schema->builtin ? "" : schema->description;
    owner.fields.push_back(std::move(field));
  }

  void add_properties(Schema& owner, const Json& source, int depth) {
    for (const auto& [name, property] : map_at(source, {"properties"})) {
      const bool is_known = std::ranges::any_of(
          owner.fields, [&](const Field& field) { return field.name == std::string_view(name); });
      if (!is_known) add_field(owner, name, node(property, depth + 1));
    }
    for (const Json& name : list_at(source, {"required"})) {
      for (Field& field : owner.fields)
        field.required |= field.name == text_of(name);
    }
  }

  const Schema* node(const Json& source, int depth) {
    Schema* made = catalogue_.add();
    if (!source.is_object() || depth > kMaxDepth) return any(made);
    made->description = text_at(source, {"description"});
    made->nullable = bool_at(source, {"nullable"});
    made->preserve_unknown = preserves(source);
    made->embedded_resource = bool_at(source, {"x-kubernetes-embedded-resource"});
    if (const Json* value = find(source, "default")) made->default_value = *value;
    const std::string_view type = text_at(source, {"type"});
    const Json* values = find(source, "additionalProperties");
    if (bool_at(source, {"x-kubernetes-int-or-string"})) {
      made->type = Schema::Type::IntOrString;
    } else if (type == "string") {
      made->type = Schema::Type::String;
    } else if (type == "integer") {
      made->type = Schema::Type::Integer;
      made->bits = text_at(source, {"format"}) == "int32" ? 32 : 64;
    } else if (type == "number") {
      made->type = Schema::Type::Number;
    } else if (type == "boolean") {
      made->type = Schema::Type::Boolean;
    } else if (type == "array") {
      list(*made, source, depth);
    } else if (values != nullptr && !(values->is_bool() && !values->get_bool())) {
      made->type = Schema::Type::Map;
      made->items = values->is_object() ? node(*values, depth + 1) : any(catalogue_.add());
      made->atomic = text_at(source, {"x-kubernetes-map-type"}) == "atomic";
    } else if (type == "object" || !map_at(source, {"properties"}).empty()) {
      made->type = Schema::Type::Struct;
      made->atomic = text_at(source, {"x-kubernetes-map-type"}) == "atomic";
      add_properties(*made, source, depth);
    } else {
      return any(made);
    }
    made->finish();
    return made;
  }

  void list(Schema& made, const Json& source, int depth) {
    made.type = Schema::Type::List;
    const Json* items = find(source, "items");
    made.items = items != nullptr ? node(*items, depth + 1) : any(catalogue_.add());
    const std::string_view list_type = text_at(source, {"x-kubernetes-list-type"});
    if (list_type == "set") made.list_type = Schema::ListType::Set;
    if (list_type != "map") return;
    made.list_type = Schema::ListType::Map;
    for (const Json& key : list_at(source, {"x-kubernetes-list-map-keys"}))
      made.list_keys.emplace_back(text_of(key));
  }

  static const Schema* any(Schema* made) {
    made->type = Schema::Type::Any;
    made->preserve_unknown = true;
    made->finish();
    return made;
  }

  SchemaCatalogue& catalogue_;
};

void fill(Json& value, const Schema& schema);

// A value of its own: null where null means nothing becomes the default, then what is below is
// filled.
void fill_value(Json& value, const Schema& schema) {
  if (value.is_null() && !schema.nullable && !schema.default_value.is_null()) {
    value = schema.default_value;
  }
  fill(value, schema);
}

void fill_members(JsonObject& object, const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (field.schema->builtin) continue;
    Json* member = object.if_contains(field.name);
    if (member == nullptr) {
      if (field.schema->default_value.is_null()) continue;
      member = &object.emplace(field.name, field.schema->default_value).first->value();
    }
    fill_value(*member, *field.schema);
  }
}

void fill(Json& value, const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::Struct:
      if (JsonObject* object = value.if_object()) fill_members(*object, schema);
      return;
    case Schema::Type::Map:
      if (JsonObject* object = value.if_object()) {
        for (auto& member : *object)
          fill_value(member.value(), *schema.items);
      }
      return;
    case Schema::Type::List:
      if (JsonArray* array = value.if_array()) {
        for (Json& item : *array)
          fill_value(item, *schema.items);
      }
      return;
    default: return;
  }
}

}  // namespace

CustomSchema compile_custom_schema(const Json& openapi_schema) {
  auto catalogue = std::make_shared<SchemaCatalogue>();
  const Schema* root = Compiler(*catalogue).root(openapi_schema);
  return CustomSchema{std::move(catalogue), root};
}

void apply_defaults(Json& object, const Schema& schema) {
  fill(object, schema);
}

}  // namespace yard
