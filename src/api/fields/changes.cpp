#include "api/fields/changes.h"

#include <utility>

namespace yard {
namespace {

using Type = Schema::Type;

// Values that a Go struct has without anyone having written them.
struct Unwritten {
  Json null;
  Json object = JsonObject();
  Json text = "";
  Json zero = 0;
  Json no = false;
};

const Unwritten& unwritten() {
  static const Unwritten values;
  return values;
}

const Json* zero_of(Type type) {
  switch (type) {
    case Type::String: return &unwritten().text;
    case Type::Integer:
    case Type::Number:
    case Type::IntOrString: return &unwritten().zero;
    case Type::Boolean: return &unwritten().no;
    default: return &unwritten().null;
  }
}

bool is_zero(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return true;
    case boost::json::kind::string: return value.get_string().empty();
    case boost::json::kind::array: return value.get_array().empty();
    case boost::json::kind::object: return value.get_object().empty();
    case boost::json::kind::bool_: return !value.get_bool();
    case boost::json::kind::int64: return value.get_int64() == 0;
    case boost::json::kind::uint64: return value.get_uint64() == 0;
    case boost::json::kind::double_: return value.get_double() == 0;
  }
  return false;
}

// Go's omitempty never drops a struct, and these are structs there.
bool is_go_struct(Type type) {
  return type == Type::Struct || type == Type::Time || type == Type::MicroTime ||
         type == Type::IntOrString;
}

// Custom resources have no protobuf numbers of their own, though their metadata is a built-in type.
bool is_built_in_kind(const Schema& schema) {
  const Field* metadata = schema.field("metadata");
  return metadata != nullptr && metadata->number != 0;
}

bool is_empty_object(const Json* value) {
  return value == nullptr || !value->is_object() || value->get_object().empty();
}

bool is_empty_list(const Json* value) {
  return value == nullptr || !value->is_array() || value->get_array().empty();
}

class Comparison {
 public:
  Comparison(FieldArena& arena, const Schema& root, ZeroValues zeros)
      : arena_(arena), zeros_(zeros), is_built_in_(is_built_in_kind(root)) {}

  // Fills marks and children of `node`; one of the values may be null.
  void compare(const Schema* schema, const Json* left, const Json* right, FieldNode& node) {
    switch (grain_of(schema, left, right)) {
      case Grain::Leaf: compare_leaf(left, right, node); return;
      case Grain::Map:
        if (has_no_members(schema, left) && has_no_members(schema, right)) {
          compare_leaf(left, right, node);
          return;
        }
        node.children = compare_members(schema, left, right);
        break;
      case Grain::KeyedList:
      case Grain::SetList:
        if (is_empty_list(left) && is_empty_list(right)) {
          compare_leaf(left, right, node);
          return;
        }
        node.children = compare_items(*schema, left, right);
        break;
    }
    if (left == nullptr) node.marks |= kAdded;
    if (right == nullptr) node.marks |= kRemoved;
  }

  FieldNodes compare_members(const Schema* schema, const Json* left, const Json* right) {
    const JsonObject* left_object = left == nullptr ? nullptr : left->if_object();
    const JsonObject* right_object = right == nullptr ? nullptr : right->if_object();
    const size_t level = arena_.level();
    size_t shared = 0;
    if (right_object != nullptr) {
      size_t index = 0;
      for (const auto& member : *right_object) {
        const Json* other = find_near(left_object, member.key(), index++);
        if (other != nullptr) ++shared;
        const std::string_view name = plain_view(member.key());
        const Field* field = member_field(schema, name);
        compare_member(
            schema, field, name,
            {value_of(field, left_object, other), value_of(field, right_object, &member.value())});
      }
    }
    if (left_object != nullptr && left_object->size() != shared) {
      compare_left_only(schema, *left_object, right_object);
    }
    // Where both sides are there, what neither has written is the same on both.
    if ((left_object == nullptr) != (right_object == nullptr)) {
      compare_unwritten(schema, *schema_struct(schema), left_object, right_object);
    }
    return arena_.take(level);
  }

 private:
  struct Sides {
    const Json* left;
    const Json* right;
  };

  // Two versions of an object mostly list their members in one order.
  static const Json* find_near(const JsonObject* object, boost::json::string_view key,
                               size_t index) {
    if (object == nullptr) return nullptr;
    if (index < object->size()) {
      const auto& guess = object->begin()[static_cast<std::ptrdiff_t>(index)];
      if (guess.key() == key) return &guess.value();
    }
    return object->if_contains(key);
  }

  void compare_left_only(const Schema* schema, const JsonObject& left, const JsonObject* right) {
    for (const auto& member : left) {
      if (right != nullptr && right->contains(member.key())) continue;
      const std::string_view name = plain_view(member.key());
      const Field* field = member_field(schema, name);
      compare_member(schema, field, name,
                     {value_of(field, &left, &member.value()), value_of(field, right, nullptr)});
    }
  }

  static const Schema* schema_struct(const Schema* schema) {
    static const Schema nothing;
    return schema != nullptr && schema->type == Type::Struct ? schema : &nothing;
  }

  bool is_always_there(const Field& field) const {
    if (!is_built_in_ || field.number == 0) return false;
    return field.always_shown || (!field.pointer && is_go_struct(field.schema->type));
  }

  // A Go struct is never without its always present members, however empty its JSON is.
  bool has_no_members(const Schema* schema, const Json* value) const {
    if (!is_empty_object(value)) return false;
    if (value == nullptr || !value->is_object() || schema == nullptr) return true;
    return schema->type != Type::Struct || !has_always_there(*schema);
  }

  bool has_always_there(const Schema& schema) const {
    for (const Field& field : schema.fields) {
      if (field.inlined ? has_always_there(*field.schema) : is_always_there(field)) return true;
    }
    return false;
  }

  // What Go sees of a member of `parent`; null: not there.
  const Json* value_of(const Field* field, const JsonObject* parent, const Json* written) const {
    if (parent == nullptr || field == nullptr || !is_built_in_ || field->number == 0) {
      return written;
    }
    if (written == nullptr || written->is_null()) {
      if (!is_always_there(*field)) return nullptr;
      if (field->pointer) return &unwritten().null;
      return field->schema->type == Type::Struct ? &unwritten().object
                                                 : zero_of(field->schema->type);
    }
    const bool drops = zeros_ == ZeroValues::Dropped && !field->pointer && !field->always_shown &&
                       !is_go_struct(field->schema->type);
    return drops && is_zero(*written) ? nullptr : written;
  }

  void compare_member(const Schema* schema, const Field* field, std::string_view name,
                      Sides sides) {
    if (sides.left == nullptr && sides.right == nullptr) return;
    // Most writes leave spec or status as it was. Further down everything would be looked at twice
    // for each level above it.
    const bool is_top = std::exchange(is_top_, false);
    const bool is_same = is_top && sides.left != nullptr && sides.right != nullptr &&
                         equal(*sides.left, *sides.right);
    if (!is_same) {
      FieldNode node;
      node.text = name;
      compare(member_schema(schema, field), sides.left, sides.right, node);
      arena_.push(node);
    }
    is_top_ = is_top;
  }

  void compare_unwritten(const Schema* schema, const Schema& message, const JsonObject* left,
                         const JsonObject* right) {
    const JsonObject* present = left != nullptr ? left : right;
    for (const Field& field : message.fields) {
      if (field.inlined) {
        compare_unwritten(schema, *field.schema, left, right);
        continue;
      }
      if (!is_always_there(field) || present->contains(field.name)) continue;
      compare_member(schema, &field, field.name,
                     {value_of(&field, left, nullptr), value_of(&field, right, nullptr)});
    }
  }

  static void compare_leaf(const Json* left, const Json* right, FieldNode& node) {
    if (left == nullptr) {
      node.marks |= kAdded;
    } else if (right == nullptr) {
      node.marks |= kRemoved;
    } else if (!equal(*left, *right)) {
      node.marks |= kModified;
    }
  }

  FieldNodes compare_items(const Schema& list, const Json* left, const Json* right) {
    std::vector<NamedItem> left_items = named_items(arena_, list, left);
    std::vector<NamedItem> right_items = named_items(arena_, list, right);
    sort_by_name(left_items);
    sort_by_name(right_items);
    const size_t level = arena_.level();
    size_t l = 0, r = 0;
    while (l < left_items.size() || r < right_items.size()) {
      const std::string_view name =
          r == right_items.size() ||
                  (l < left_items.size() && left_items[l].name < right_items[r].name)
              ? left_items[l].name
              : right_items[r].name;
      const size_t left_begin = l, right_begin = r;
      while (l < left_items.size() && left_items[l].name == name)
        ++l;
      while (r < right_items.size() && right_items[r].name == name)
        ++r;
      FieldNode node;
      node.kind = item_kind(list);
      node.text = name;
      compare_item(list, {left_items.data() + left_begin, l - left_begin},
                   {right_items.data() + right_begin, r - right_begin}, node);
      arena_.push(node);
    }
    return arena_.take_sorted(level);
  }

  struct Namesakes {
    const NamedItem* first;
    size_t count;
  };

  // Items that share a name are owned together, as one leaf.
  void compare_item(const Schema& list, Namesakes left, Namesakes right, FieldNode& node) {
    if (left.count <= 1 && right.count <= 1) {
      compare(list.items, left.count == 0 ? nullptr : left.first->value,
              right.count == 0 ? nullptr : right.first->value, node);
    } else if (left.count >= 2 && right.count >= 2) {
      bool are_equal = left.count == right.count;
      for (size_t i = 0; are_equal && i < left.count; ++i) {
        are_equal = equal(*left.first[i].value, *right.first[i].value);
      }
      if (!are_equal) node.marks |= kModified;
    } else if (left.count >= 2) {
      if (right.count != 0) compare(list.items, nullptr, right.first->value, node);
      node.marks |= kRemoved;
    } else {
      if (left.count != 0) compare(list.items, left.first->value, nullptr, node);
      node.marks |= kAdded;
    }
  }

  FieldArena& arena_;
  ZeroValues zeros_;
  bool is_built_in_;
  bool is_top_ = true;  // among the members of the object itself
};

}  // namespace

FieldNodes changed_fields(FieldArena& arena, const Json* live, const Json* next,
                          const Schema& schema, ZeroValues zeros) {
  const Json& nothing = unwritten().object;  // an object of the kind nobody wrote to
  FieldNodes all = Comparison(arena, schema, zeros)
                       .compare_members(&schema, live == nullptr ? &nothing : live,
                                        next == nullptr ? &nothing : next);
  return subtract(arena, all, untracked_fields());
}

}  // namespace yard
