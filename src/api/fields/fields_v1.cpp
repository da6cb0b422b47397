#include "api/fields/fields_v1.h"

#include <algorithm>

#include "base/strings.h"

namespace yard {
namespace {

constexpr int kMaxDepth = 256;    // of the set; no schema is that deep
constexpr int kMaxKeyDepth = 16;  // of the JSON inside k: and v:
constexpr std::string_view kSelf = ".";

class Reader {
 public:
  explicit Reader(FieldArena& arena) : arena_(arena) {}

  // Children of one level. `is_member` learns whether the level names itself with ".".
  bool read(const Json& level, FieldNodes& children, bool& is_member, int depth) {
    const JsonObject* object = level.if_object();
    if (object == nullptr || depth > kMaxDepth) return false;
    const size_t mark = arena_.level();
    bool in_order = true;
    const FieldNode* previous = nullptr;
    FieldNode last;
    for (const auto& member : *object) {
      const std::string_view key(member.key().data(), member.key().size());
      if (key == kSelf) {
        is_member = true;
        continue;
      }
      FieldNode node;
      bool known = true;
      if (!read_element(key, node, known)) return false;
      if (!known) continue;
      bool names_itself = false;
      if (!read(member.value(), node.children, names_itself, depth + 1)) return false;
      if (names_itself || node.children.empty()) node.marks = kMember;
      node.set_order();
      in_order = in_order && (previous == nullptr || compare_elements(last, node) < 0);
      last = node;
      previous = &last;
      arena_.push(node);
    }
    children = in_order ? arena_.take_sorted(mark) : arena_.take_merged(mark);
    return true;
  }

 private:
  bool read_element(std::string_view key, FieldNode& node, bool& known) {
    if (key.size() < 2 || key[1] != ':') return false;
    const std::string_view text = key.substr(2);
    switch (key[0]) {
      case 'f':
        node.kind = ElementKind::Field;
        node.text = text;
        return true;
      case 'k': node.kind = ElementKind::Key; return read_value(text, node, true);
      case 'v': node.kind = ElementKind::Value; return read_value(text, node, false);
      case 'i':
        node.kind = ElementKind::Index;
        node.text = text;
        return parse_int64(text).has_value();
      default: known = false; return true;
    }
  }

  // The same value may be spelled in many ways; ours is the one that compares.
  bool read_value(std::string_view text, FieldNode& node, bool must_be_object) {
    Result<ParsedJson> parsed = parse_json(text, {.max_depth = kMaxKeyDepth});
    if (!parsed || (must_be_object && !parsed->value.is_object())) return false;
    text_.clear();
    append_sorted_text(text_, parsed->value);
    node.text = text_ == text ? text : arena_.keep(text_);
    return true;
  }

  FieldArena& arena_;
  std::string text_;
};

void append_key(std::string& key, const FieldNode& node) {
  constexpr char kLetters[] = "fkvi";
  key.clear();
  key += kLetters[static_cast<size_t>(node.kind)];
  key += ':';
  key += node.text;
}

JsonObject write_level(FieldNodes nodes, bool is_member, const boost::json::storage_ptr& storage,
                       std::string& key) {
  JsonObject level(storage);
  if (nodes.empty()) return level;
  level.reserve(nodes.count + (is_member ? 1 : 0));
  if (is_member) level.emplace(kSelf, JsonObject(storage));
  for (const FieldNode& node : nodes) {
    if (node.children.empty()) {
      append_key(key, node);
      level.emplace(key, JsonObject(storage));
      continue;
    }
    JsonObject below = write_level(node.children, node.marks != 0, storage, key);
    append_key(key, node);
    level.emplace(key, std::move(below));
  }
  return level;
}

}  // namespace

std::optional<FieldNodes> read_fields_v1(FieldArena& arena, const Json& fields) {
  FieldNodes nodes;
  bool is_member = false;  // of the root, which names no field
  const size_t level = arena.level();
  if (!Reader(arena).read(fields, nodes, is_member, 0)) {
    arena.take(level);  // an error half-way leaves gathered nodes behind
    return std::nullopt;
  }
  return nodes;
}

JsonObject write_fields_v1(FieldNodes nodes, const boost::json::storage_ptr& storage) {
  std::string key;
  return write_level(nodes, false, storage, key);
}

void append_sorted_text(std::string& out, const Json& value) {
  if (const JsonObject* object = value.if_object()) {
    std::vector<const boost::json::key_value_pair*> members;
    members.reserve(object->size());
    for (const auto& member : *object)
      members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* left, const auto* right) { return left->key() < right->key(); });
    char separator = '{';
    for (const auto* member : members) {
      out += separator;
      separator = ',';
      append_quoted(out, {member->key().data(), member->key().size()});
      out += ':';
      append_sorted_text(out, member->value());
    }
    out += members.empty() ? "{}" : "}";
  } else if (const JsonArray* array = value.if_array()) {
    char separator = '[';
    for (const Json& item : *array) {
      out += separator;
      separator = ',';
      append_sorted_text(out, item);
    }
    out += array->empty() ? "[]" : "]";
  } else {
    append_text(out, value);
  }
}

}  // namespace yard
