#include <limits>
#include <variant>

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "api/schema/leaf_values.h"

namespace yard {
namespace {

const char* json_word(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "bool";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_: return "number";
    case boost::json::kind::string: return "string";
    case boost::json::kind::array: return "array";
    case boost::json::kind::object: return "object";
  }
  return "value";
}

std::string_view short_name(std::string_view schema_name) {
  return schema_name.substr(schema_name.rfind('.') + 1);
}

std::string go_type(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::String: return "string";
    case Schema::Type::Integer: return schema.bits == 32 ? "int32" : "int64";
    case Schema::Type::Boolean: return "bool";
    case Schema::Type::Number: return "float64";
    case Schema::Type::Bytes: return "[]uint8";
    case Schema::Type::Time: return "v1.Time";
    case Schema::Type::MicroTime: return "v1.MicroTime";
    case Schema::Type::Quantity: return "resource.Quantity";
    case Schema::Type::IntOrString: return "intstr.IntOrString";
    case Schema::Type::Struct: return fmt::format("v1.{}", short_name(schema.name));
    case Schema::Type::Map: return "map[string]" + go_type(*schema.items);
    case Schema::Type::List: return "[]" + go_type(*schema.items);
    case Schema::Type::Any: break;
  }
  return "interface {}";
}

// Walks tree and schema together. Functions answer false once `failure` is set: a Result for every
// leaf would cost more than the checks.
class Conformer {
 public:
  Conformer(std::string_view root_name, EmptyValues empty)
      : struct_name_(root_name), keeps_empty_(empty == EmptyValues::Kept) {}

  bool conform(Json& value, const Schema& schema);

  DecodeFindings findings;
  Error failure;

 private:
  struct Member {
    std::string_view name;
  };
  struct Key {
    std::string_view name;
  };
  using Step = std::variant<Member, Key, size_t>;

  bool conform_struct(Json& value, const Schema& schema);
  bool conform_member(std::string_view name, Json& value, const Schema& owner, bool& drop);
  bool conform_map(Json& value, const Schema& schema);
  bool conform_list(Json& value, const Schema& schema);
  bool conform_union(Json& value, const Schema& schema);
  bool conform_leaf(Json& value, const Schema& schema);
  bool conform_integer(const Json& value, const Schema& schema);
  bool conform_int_or_string(const Json& value);
  bool conform_bytes(Json& value, const Schema& schema);
  bool conform_time(Json& value, const Schema& schema);
  bool conform_quantity(Json& value);
  bool replace_text(Json& value, Result<std::string> text);

  bool wrong_type(const Json& value, const Schema& schema, bool show_literal = false);
  bool fail(std::string message);
  std::string struct_path() const;
  void note_unknown(std::string_view name);

  std::vector<Step> path_;
  std::string_view struct_name_;
  const bool keeps_empty_;
};

bool Conformer::conform(Json& value, const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::Struct: return conform_struct(value, schema);
    case Schema::Type::Map: return conform_map(value, schema);
    case Schema::Type::List: return conform_list(value, schema);
    case Schema::Type::Any:
      return schema.union_of == Schema::Union::None || conform_union(value, schema);
    default:
      // Custom resources are typed by their validation, which answers 422 with every mistake at
      // once.
      return !schema.builtin || conform_leaf(value, schema);
  }
}

// Erasing keeps the order of what stays, until a hostile number of erasures would make that
// quadratic.
class Eraser {
 public:
  JsonObject::iterator erase(JsonObject& object, JsonObject::iterator at) {
    return ++count_ <= 32 ? object.stable_erase(at) : object.erase(at);
  }

 private:
  int count_ = 0;
};

bool Conformer::conform_struct(Json& value, const Schema& schema) {
  JsonObject* object = value.if_object();
  if (object == nullptr) return !schema.builtin || wrong_type(value, schema);
  const std::string_view outer_name = struct_name_;
  if (!path_.empty() && !schema.name.empty()) struct_name_ = short_name(schema.name);
  Eraser eraser;
  for (auto member = object->begin(); member != object->end();) {
    bool drop = false;
    if (!conform_member(member->key(), member->value(), schema, drop)) return false;
    member = drop ? eraser.erase(*object, member) : member + 1;
  }
  struct_name_ = outer_name;
  return true;
}

// Go leaves the empty value of an `omitempty` field out of what it writes, so JSON and protobuf
// bodies, patches and what clients read back all agree on "absent".
bool is_left_out(const Field& field, const Json& value) {
  if (field.always_shown || field.pointer || !field.schema->builtin) return false;
  switch (field.schema->type) {
    case Schema::Type::List: return value.get_array().empty();
    case Schema::Type::Map: return value.get_object().empty();
    case Schema::Type::String: return value.get_string().empty();
    case Schema::Type::Boolean: return !value.get_bool();
    case Schema::Type::Integer: return value.is_int64() && value.get_int64() == 0;
    default: return false;
  }
}

bool Conformer::conform_member(std::string_view name, Json& value, const Schema& owner,
                               bool& drop) {
  static const Schema* const kMetadata = builtin_schemas().find("meta.v1.ObjectMeta");
  const Field* field = owner.field(name);
  const Schema* schema = field != nullptr ? field->schema : nullptr;
  if (schema == nullptr) {
    const bool is_type = name == "apiVersion" || name == "kind";
    if (owner.embedded_resource && name == "metadata") {
      schema = kMetadata;
    } else {
      if (owner.preserve_unknown || (owner.embedded_resource && is_type)) return true;
      note_unknown(name);
      drop = true;
      return true;
    }
  }
  if (value.is_null()) {
    drop = schema->builtin ? schema->type != Schema::Type::Any : !schema->nullable;
    return true;
  }
  path_.push_back(Member{name});
  if (!conform(value, *schema)) return false;
  path_.pop_back();
  // Go's zero time is shown as null.
  drop = value.is_null() || (!keeps_empty_ && field != nullptr && is_left_out(*field, value));
  return true;
}

bool Conformer::conform_map(Json& value, const Schema& schema) {
  JsonObject* object = value.if_object();
  if (object == nullptr) return !schema.builtin || wrong_type(value, schema);
  Eraser eraser;
  for (auto entry = object->begin(); entry != object->end();) {
    if (entry->value().is_null()) {
      if (schema.builtin) entry->value() = zero_value(*schema.items);
      const bool keep = schema.builtin ? !entry->value().is_null() : schema.items->nullable;
      entry = keep ? entry + 1 : eraser.erase(*object, entry);
      continue;
    }
    path_.push_back(Key{entry->key()});
    if (!conform(entry->value(), *schema.items)) return false;
    path_.pop_back();
    ++entry;
  }
  return true;
}

bool Conformer::conform_list(Json& value, const Schema& schema) {
  JsonArray* array = value.if_array();
  if (array == nullptr) return !schema.builtin || wrong_type(value, schema);
  path_.push_back(size_t{0});
  for (size_t i = 0; i < array->size(); ++i) {
    Json& element = (*array)[i];
    if (element.is_null()) {
      if (schema.builtin) element = zero_value(*schema.items);
      continue;
    }
    path_.back() = i;
    if (!conform(element, *schema.items)) return false;
  }
  path_.pop_back();
  return true;
}

bool Conformer::conform_union(Json& value, const Schema& schema) {
  if (value.is_object()) return conform_struct(value, *schema.items);
  const bool is_list = schema.union_of == Schema::Union::SchemaOrArray;
  if (is_list && value.is_array()) {
    path_.push_back(size_t{0});
    for (size_t i = 0; i < value.get_array().size(); ++i) {
      path_.back() = i;
      if (!conform_struct(value.get_array()[i], *schema.items)) return false;
    }
    path_.pop_back();
    return true;
  }
  if (schema.union_of == Schema::Union::SchemaOrBool) {
    return value.is_bool() || fail("boolean or JSON schema expected");
  }
  if (is_list) return fail("JSON schema or a list of them expected");
  bool all_texts = value.is_array();
  if (all_texts) {
    for (const Json& element : value.get_array())
      all_texts = all_texts && element.is_string();
  }
  return all_texts || fail("JSON schema or a list of strings expected");
}

bool Conformer::conform_leaf(Json& value, const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::String: return value.is_string() || wrong_type(value, schema);
    case Schema::Type::Boolean: return value.is_bool() || wrong_type(value, schema);
    case Schema::Type::Number: return value.is_number() || wrong_type(value, schema);
    case Schema::Type::Integer: return conform_integer(value, schema);
    case Schema::Type::IntOrString: return conform_int_or_string(value);
    case Schema::Type::Bytes: return conform_bytes(value, schema);
    case Schema::Type::Quantity: return conform_quantity(value);
    case Schema::Type::Time:
    case Schema::Type::MicroTime: return conform_time(value, schema);
    default: return true;
  }
}

bool fits_in_32_bits(int64_t number) {
  return number >= std::numeric_limits<int32_t>::min() &&
         number <= std::numeric_limits<int32_t>::max();
}

bool Conformer::conform_integer(const Json& value, const Schema& schema) {
  if (const int64_t* number = value.if_int64()) {
    return schema.bits != 32 || fits_in_32_bits(*number) || wrong_type(value, schema, true);
  }
  return wrong_type(value, schema, value.is_number());
}

bool Conformer::conform_int_or_string(const Json& value) {
  if (value.is_string()) return true;
  if (const int64_t* number = value.if_int64(); number != nullptr && fits_in_32_bits(*number))
    return true;
  const std::string literal = value.is_number() ? " " + to_text(value) : "";
  return fail(fmt::format("json: cannot unmarshal {}{} into Go value of type int32",
                          json_word(value), literal));
}

bool Conformer::conform_bytes(Json& value, const Schema& schema) {
  if (!value.is_string()) return wrong_type(value, schema);
  const std::string_view text = value.get_string();
  if (const std::optional<size_t> wrong = wrong_base64_byte(text)) {
    return fail(fmt::format("illegal base64 data at input byte {}", *wrong));
  }
  if (text.find_first_of("\r\n") != std::string_view::npos) value = Json(without_line_ends(text));
  return true;
}

bool Conformer::conform_time(Json& value, const Schema& schema) {
  if (!value.is_string()) {
    return fail(
        fmt::format("json: cannot unmarshal {} into Go value of type string", json_word(value)));
  }
  const std::string_view text = value.get_string();
  return replace_text(value, normal_time(text, schema.type));
}

bool Conformer::conform_quantity(Json& value) {
  if (value.is_string()) {
    const std::string_view text = value.get_string();
    return replace_text(value, normal_quantity(text));
  }
  // A bare number is read by its decimal text; the tree keeps its value, not how it was spelled.
  if (const double* number = value.if_double()) {
    return replace_text(value, normal_quantity(fmt::format("{}", *number)));
  }
  return replace_text(value, normal_quantity(to_text(value)));
}

// An empty text stands for null.
bool Conformer::replace_text(Json& value, Result<std::string> text) {
  if (!text) return fail(std::move(text.error().message));
  if (text->empty()) {
    value = nullptr;
  } else if (!value.is_string() || std::string_view(value.get_string()) != *text) {
    value = Json(*text);
  }
  return true;
}

bool Conformer::wrong_type(const Json& value, const Schema& schema, bool show_literal) {
  const std::string literal = show_literal ? " " + to_text(value) : "";
  const std::string place =
      path_.empty() ? "value" : fmt::format("struct field {}.{}", struct_name_, struct_path());
  return fail(fmt::format("json: cannot unmarshal {}{} into Go {} of type {}", json_word(value),
                          literal, place, go_type(schema)));
}

bool Conformer::fail(std::string message) {
  failure = error(Reason::BadRequest, std::move(message));
  return false;
}

// Go names struct members only, no list positions and no map keys.
std::string Conformer::struct_path() const {
  std::string text;
  for (const Step& step : path_) {
    if (const Member* member = std::get_if<Member>(&step)) {
      if (!text.empty()) text += '.';
      text += member->name;
    }
  }
  return text;
}

void Conformer::note_unknown(std::string_view name) {
  constexpr size_t kMostFindings = 100;  // as many as upstream's strict decoder collects
  if (findings.unknown_fields.size() >= kMostFindings) return;
  std::string text;
  for (const Step& step : path_) {
    if (const size_t* position = std::get_if<size_t>(&step)) {
      text += fmt::format("[{}]", *position);
      continue;
    }
    const Member* member = std::get_if<Member>(&step);
    if (!text.empty()) text += '.';
    text += member != nullptr ? member->name : std::get_if<Key>(&step)->name;
  }
  if (!text.empty()) text += '.';
  text += name;
  findings.unknown_fields.push_back(std::move(text));
}

}  // namespace

Result<DecodeFindings> conform(Json& tree, const Schema& schema, std::string_view type_name,
                               EmptyValues empty) {
  Conformer conformer(type_name, empty);
  if (!conformer.conform(tree, schema)) return std::move(conformer.failure);
  return std::move(conformer.findings);
}

}  // namespace yard
