// Reads the tables of built-in types into one catalogue.

#include <array>
#include <utility>

#include "api/schema/builtin_tables.h"
#include "api/schema/schema.h"
#include "base/check.h"

namespace yard {
namespace {

// The part of `text` before `separator`; `text` is left with what follows it.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return taken;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, char suffix) {
  if (text.empty() || text.back() != suffix) return false;
  text.remove_suffix(1);
  return true;
}

uint16_t field_number(std::string_view digits) {
  uint32_t number = 0;
  for (const char digit : digits)
    number = number * 10 + static_cast<uint32_t>(digit - '0');
  check(number > 0 && number < 65536, "a table's field number is small and positive");
  return static_cast<uint16_t>(number);
}

// What the words behind a field's type say about the node the field points at.
struct NodeWords {
  bool merge = false;
  std::string_view merge_key;
  bool retain_keys = false;
  bool replace = false;
  Schema::ListType list_type = Schema::ListType::Atomic;
  std::string_view list_keys;
  bool atomic = false;
  bool granular = false;
  std::string_view default_text;

  bool is_plain() const {
    return !merge && !retain_keys && !replace && list_type == Schema::ListType::Atomic && !atomic &&
           !granular && default_text.empty();
  }
  void apply_to(Schema& node) const {
    node.patch_merge = merge;
    node.patch_merge_key = merge_key;
    node.retain_keys = retain_keys;
    node.patch_replace = replace;
    node.list_type = list_type;
    for (std::string_view rest = list_keys; !rest.empty();) {
      node.list_keys.emplace_back(take_until(rest, ","));
    }
    if (atomic) node.atomic = true;
    if (granular) node.atomic = false;
    if (!default_text.empty()) node.default_value = Json(default_text);
  }
};

NodeWords node_words(std::string_view text) {
  NodeWords words;
  while (!text.empty()) {
    std::string_view word = take_until(text, " ");
    if (take_prefix(word, "merge=")) {
      words.merge = true;
      words.merge_key = word;
    } else if (take_prefix(word, "map=")) {
      words.list_type = Schema::ListType::Map;
      words.list_keys = word;
    } else if (take_prefix(word, "default=")) {
      words.default_text = word;
    } else if (word == "merge") {
      words.merge = true;
    } else if (word == "set") {
      words.list_type = Schema::ListType::Set;
    } else if (word == "retainKeys") {
      words.retain_keys = true;
    } else if (word == "replace") {
      words.replace = true;
    } else if (word == "atomic") {
      words.atomic = true;
    } else {
      check(word == "granular", "a table's word is known");
      words.granular = true;
    }
  }
  return words;
}

class TableReader {
 public:
  explicit TableReader(SchemaCatalogue& catalogue) : catalogue_(catalogue) { add_leaves(); }

  void read_all() {
    for (const std::string_view table : builtin_tables())
      declare_messages(table);
    add_unions();
    for (const auto& [message, text] : messages_)
      read_fields(*message, text);
    // Only now are all fields known, so a field's own variant of a struct can be a copy of it.
    for (const Variant& variant : variants_)
      add_variant(variant);
    read_descriptions(builtin_descriptions());
    for (const auto& [message, text] : messages_)
      message->finish();
    for (Schema* copy : copies_)
      copy->finish();
  }

 private:
  struct Message {
    Schema* schema;
    std::string_view fields;
  };
  struct Variant {
    Schema* owner;
    size_t field;
    NodeWords words;
  };

  Schema* add(Schema::Type type) {
    Schema* schema = catalogue_.add();
    schema->type = type;
    schema->builtin = true;
    return schema;
  }

  void add_leaves() {
    using Type = Schema::Type;
    constexpr std::pair<std::string_view, Type> kLeaves[] = {{"string", Type::String},
                                                             {"int32", Type::Integer},
                                                             {"int64", Type::Integer},
                                                             {"bool", Type::Boolean},
                                                             {"double", Type::Number},
                                                             {"bytes", Type::Bytes},
                                                             {"Time", Type::Time},
                                                             {"MicroTime", Type::MicroTime},
                                                             {"Quantity", Type::Quantity},
                                                             {"IntOrString", Type::IntOrString},
                                                             {"Any", Type::Any}};
    for (const auto& [name, type] : kLeaves) {
      Schema* leaf = add(type);
      if (name == "int32") leaf->bits = 32;
      leaves_.emplace_back(name, leaf);
    }
  }

  void add_unions() {
    using Union = Schema::Union;
    constexpr std::pair<std::string_view, Union> kUnions[] = {
        {"SchemaOrBool", Union::SchemaOrBool},
        {"SchemaOrArray", Union::SchemaOrArray},
        {"SchemaOrStrings", Union::SchemaOrStrings}};
    for (const auto& [name, union_of] : kUnions) {
      Schema* node = add(Schema::Type::Any);
      node->union_of = union_of;
      node->items = catalogue_.find("apiextensions.v1.JSONSchemaProps");
      leaves_.emplace_back(name, node);
    }
  }

  void declare_messages(std::string_view table) {
    std::string_view package;
    while (!table.empty()) {
      std::string_view line = take_until(table, "\n");
      if (line.empty()) continue;
      if (take_prefix(line, "package ")) {
        package = line;
        continue;
      }
      Schema* schema = add(Schema::Type::Struct);
      const bool is_object = take_prefix(line, "object ");
      std::string_view head = take_until(line, ":");
      schema->name.reserve(package.size() + 1 + head.size());
      schema->name.append(package).append(".").append(take_until(head, " "));
      schema->atomic = head == "atomic";
      catalogue_.index(schema);
      if (is_object) add_type_members(*schema);
      messages_.push_back({schema, line});
    }
  }

  void add_type_members(Schema& schema) {
    for (const char* name : {"kind", "apiVersion"}) {
      Field field;
      field.name = name;
      field.schema = leaf("string");
      schema.fields.push_back(std::move(field));
    }
  }

  void read_fields(Schema& message, std::string_view text) {
    const std::string_view package =
        std::string_view(message.name).substr(0, message.name.rfind('.'));
    take_prefix(text, " ");
    while (!text.empty()) {
      std::string_view line = take_until(text, "; ");
      Field field;
      field.name = take_until(line, " ");
      field.number = field_number(take_until(line, " "));
      std::string_view type = take_until(line, " ");
      field.always_shown = take_suffix(type, '+');
      field.required = take_suffix(type, '!');
      field.inlined = take_suffix(type, '^');
      field.pointer = take_suffix(type, '?');
      const NodeWords words = node_words(line);
      Schema* node = node_of(type, package);
      field.schema = node;
      const bool own_node = type.starts_with("[]") || type.starts_with("{}");
      if (own_node) {
        words.apply_to(*node);
      } else if (!words.is_plain()) {
        variants_.push_back({&message, message.fields.size(), words});
      }
      message.fields.push_back(std::move(field));
    }
  }

  Schema* node_of(std::string_view type, std::string_view package) {
    if (take_prefix(type, "[]")) return container(Schema::Type::List, type, package);
    if (take_prefix(type, "{}")) return container(Schema::Type::Map, type, package);
    if (Schema* known = leaf(type)) return known;
    std::string name(type);
    if (type.find('.') == std::string_view::npos) name.insert(0, std::string(package) + ".");
    // The catalogue hands out const; every node in it was made by this reader.
    Schema* found = const_cast<Schema*>(catalogue_.find(name));
    check(found != nullptr, "a table's type is declared in some table");
    return found;
  }

  Schema* container(Schema::Type type, std::string_view items, std::string_view package) {
    Schema* node = add(type);
    node->items = node_of(items, package);
    return node;
  }

  Schema* leaf(std::string_view name) {
    for (const auto& [known, node] : leaves_) {
      if (known == name) return node;
    }
    return nullptr;
  }

  void add_variant(const Variant& variant) {
    Field& field = variant.owner->fields[variant.field];
    Schema* copy = catalogue_.add();
    *copy = *field.schema;
    variant.words.apply_to(*copy);
    field.schema = copy;
    copies_.push_back(copy);
  }

  void read_descriptions(std::string_view text) {
    while (!text.empty()) {
      std::string_view line = take_until(text, "\n");
      if (line.empty()) continue;
      const std::string_view place = take_until(line, ": ");
      if (Schema* whole = const_cast<Schema*>(catalogue_.find(place))) {
        whole->description = line;
        continue;
      }
      const size_t dot = place.rfind('.');
      Schema* owner = const_cast<Schema*>(catalogue_.find(place.substr(0, dot)));
      check(owner != nullptr, "a description names a known type");
      bool found = false;
      for (Field& field : owner->fields) {
        if (field.name != place.substr(dot + 1)) continue;
        field.description = line;
        found = true;
      }
      check(found, "a description names a known field");
    }
  }

  SchemaCatalogue& catalogue_;
  std::vector<std::pair<std::string_view, Schema*>> leaves_;
  std::vector<Message> messages_;
  std::vector<Variant> variants_;
  std::vector<Schema*> copies_;
};

constexpr std::pair<std::string_view, std::string_view> kPackages[] = {
    {"v1", "core.v1"},
    {"batch/v1", "batch.v1"},
    {"apps/v1", "apps.v1"},
    {"coordination.k8s.io/v1", "coordination.v1"},
    {"events.k8s.io/v1", "events.v1"},
    {"discovery.k8s.io/v1", "discovery.v1"},
    {"authentication.k8s.io/v1", "authentication.v1"},
    {"authorization.k8s.io/v1", "authorization.v1"},
    {"policy/v1", "policy.v1"},
    {"rbac.authorization.k8s.io/v1", "rbac.v1"},
    {"autoscaling/v2", "autoscaling.v2"},
    {"autoscaling/v1", "autoscaling.v1"},
    {"scheduling.k8s.io/v1", "scheduling.v1"},
    {"networking.k8s.io/v1", "networking.v1"},
    {"storage.k8s.io/v1", "storage.v1"},
    {"node.k8s.io/v1", "node.v1"},
    {"certificates.k8s.io/v1", "certificates.v1"},
    {"flowcontrol.apiserver.k8s.io/v1", "flowcontrol.v1"},
    {"apiregistration.k8s.io/v1", "apiregistration.v1"},
    {"apiextensions.k8s.io/v1", "apiextensions.v1"},
    {"admissionregistration.k8s.io/v1", "admissionregistration.v1"},
    {"meta.k8s.io/v1", "meta.v1"},
};

const Schema* object_schema(std::string_view package, std::string_view kind) {
  std::string name;
  name.reserve(package.size() + 1 + kind.size());
  name.append(package).append(".").append(kind);
  const Schema* found = builtin_schemas().find(name);
  return found != nullptr && found->field("apiVersion") != nullptr &&
                 found->field("kind") != nullptr && found->field("kind")->number == 0
             ? found
             : nullptr;
}

bool is_known_everywhere(std::string_view kind) {
  return kind == "DeleteOptions" || kind == "Status" || kind == "CreateOptions" ||
         kind == "UpdateOptions" || kind == "PatchOptions" || kind == "ListOptions" ||
         kind == "GetOptions";
}

}  // namespace

const SchemaCatalogue& builtin_schemas() {
  static const SchemaCatalogue* const kCatalogue = [] {
    auto* catalogue = new SchemaCatalogue;
    TableReader(*catalogue).read_all();
    return catalogue;
  }();
  return *kCatalogue;
}

const Schema* builtin_schema_of(std::string_view api_version, std::string_view kind) {
  if (is_known_everywhere(kind)) return object_schema("meta.v1", kind);
  for (const auto& [version, package] : kPackages) {
    if (version == api_version) return object_schema(package, kind);
  }
  return nullptr;
}

}  // namespace yard
