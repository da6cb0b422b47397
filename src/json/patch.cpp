#include "json/patch.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

namespace {

constexpr size_t kMaxOperations = 10'000;
constexpr size_t kMaxCopiedBytes = 3 * 1024 * 1024;
// Operations can nest what two bodies of legal depth cannot; trees are walked by recursion
// everywhere.
constexpr int kMaxDepth = 1024;

using Pointer = std::vector<std::string>;

Error cannot_be_done() {
  return error(Reason::Invalid, "the server rejected our request due to an error in our request");
}

Error no_patch(std::string_view why) {
  return error(Reason::BadRequest, fmt::format("error decoding patch: {}", why));
}

struct Operation {
  std::string_view name;
  Pointer path;
  Pointer from;
  const Json* value = nullptr;
};

std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    ++i;
    if (i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    out += token[i] == '0' ? '~' : '/';
  }
  return out;
}

std::optional<Pointer> parse_pointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text[0] != '/') return std::nullopt;
  for (std::string_view token : split(text.substr(1), '/')) {
    std::optional<std::string> step = unescaped(token);
    if (!step) return std::nullopt;
    pointer.push_back(std::move(*step));
  }
  return pointer;
}

Result<Pointer> pointer_at(const Json& operation, std::string_view key) {
  const Json* text = find(operation, key);
  if (text == nullptr || !text->is_string()) return cannot_be_done();
  std::optional<Pointer> pointer = parse_pointer(text_at(operation, {key}));
  if (!pointer) return cannot_be_done();
  return std::move(*pointer);
}

Result<Operation> decode_operation(const Json& json) {
  if (!json.is_object()) return no_patch("an operation is not an object");
  Operation operation;
  operation.name = text_at(json, {"op"});
  constexpr std::string_view kNames[] = {"add", "remove", "replace", "move", "copy", "test"};
  if (std::find(std::begin(kNames), std::end(kNames), operation.name) == std::end(kNames)) {
    return cannot_be_done();
  }
  operation.path = TRY(pointer_at(json, "path"));
  if (operation.name == "move" || operation.name == "copy") {
    operation.from = TRY(pointer_at(json, "from"));
  } else if (operation.name != "remove") {
    operation.value = find(json, "value");
    if (operation.value == nullptr) return cannot_be_done();
  }
  return operation;
}

// RFC 6901: digits without leading zeros.
std::optional<size_t> array_index(std::string_view token) {
  bool has_leading_zero = token.size() > 1 && token[0] == '0';
  if (token.empty() || token.size() > 9 || has_leading_zero) return std::nullopt;
  if (token.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_uint64(token);
}

Json* child(Json& parent, const std::string& token) {
  if (JsonArray* array = parent.if_array()) {
    std::optional<size_t> index = array_index(token);
    return index && *index < array->size() ? &(*array)[*index] : nullptr;
  }
  return find(parent, token);
}

Json* value_at(Json& root, const Pointer& path, size_t steps) {
  Json* here = &root;
  for (size_t i = 0; i < steps && here != nullptr; ++i)
    here = child(*here, path[i]);
  return here;
}

Json* value_at(Json& root, const Pointer& path) {
  return value_at(root, path, path.size());
}

Result<void> add(Json& root, const Pointer& path, Json value) {
  if (path.empty()) {
    root = std::move(value);
    return {};
  }
  Json* parent = value_at(root, path, path.size() - 1);
  if (parent == nullptr) return cannot_be_done();
  const std::string& token = path.back();
  if (JsonObject* object = parent->if_object()) {
    object->insert_or_assign(token, std::move(value));
    return {};
  }
  JsonArray* array = parent->if_array();
  if (array == nullptr) return cannot_be_done();
  std::optional<size_t> index = token == "-" ? array->size() : array_index(token);
  if (!index || *index > array->size()) return cannot_be_done();
  array->insert(array->begin() + *index, std::move(value));
  return {};
}

// The root can be replaced but not removed: nothing would be left to store.
Result<Json> take(Json& root, const Pointer& path) {
  if (path.empty()) return cannot_be_done();
  Json* parent = value_at(root, path, path.size() - 1);
  Json* found = parent == nullptr ? nullptr : child(*parent, path.back());
  if (found == nullptr) return cannot_be_done();
  Json value = std::move(*found);
  if (JsonObject* object = parent->if_object()) {
    object->erase(path.back());
  } else {
    JsonArray& array = parent->get_array();
    array.erase(array.begin() + (found - array.data()));
  }
  return value;
}

int depth_of(const Json& value) {
  int deepest = 0;
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object)
      deepest = std::max(deepest, depth_of(member.value()));
    return deepest + 1;
  }
  if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array)
      deepest = std::max(deepest, depth_of(item));
    return deepest + 1;
  }
  return 0;
}

bool fits_at(const Pointer& path, const Json& value) {
  return static_cast<int>(path.size()) + depth_of(value) <= kMaxDepth;
}

// The bytes the value has as text, give or take its escapes and numbers; stops counting past
// `limit`.
size_t rough_size(const Json& value, size_t limit) {
  size_t size = 8;
  if (value.is_string()) return size + value.get_string().size();
  if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) {
      if (size > limit) break;
      size += member.key().size() + 4 + rough_size(member.value(), limit - size);
    }
  } else if (const JsonArray* array = value.if_array()) {
    for (const Json& item : *array) {
      if (size > limit) break;
      size += rough_size(item, limit - size);
    }
  }
  return size;
}

bool is_inside(const Pointer& path, const Pointer& ancestor) {
  return path.size() > ancestor.size() &&
         std::equal(ancestor.begin(), ancestor.end(), path.begin());
}

class JsonPatch {
 public:
  explicit JsonPatch(Json& root) : root_(root) {}

  Result<void> apply(const Operation& operation) {
    if (operation.name == "add") return add_value(operation.path, *operation.value);
    if (operation.name == "remove") return remove(operation.path);
    if (operation.name == "replace") return replace(operation.path, *operation.value);
    if (operation.name == "move") return move(operation);
    if (operation.name == "copy") return copy(operation);
    return test(operation);
  }

 private:
  Result<void> add_value(const Pointer& path, const Json& value) {
    if (!fits_at(path, value)) return cannot_be_done();
    return add(root_, path, value);
  }

  Result<void> remove(const Pointer& path) {
    TRY(take(root_, path));
    return {};
  }

  Result<void> replace(const Pointer& path, const Json& value) {
    Json* found = value_at(root_, path);
    if (found == nullptr || !fits_at(path, value)) return cannot_be_done();
    *found = value;
    return {};
  }

  Result<void> move(const Operation& operation) {
    const Json* found = value_at(root_, operation.from);
    if (found == nullptr || is_inside(operation.path, operation.from)) return cannot_be_done();
    if (operation.path == operation.from) return {};
    bool goes_deeper = operation.path.size() > operation.from.size();
    if (goes_deeper && !fits_at(operation.path, *found)) return cannot_be_done();
    Json value = TRY(take(root_, operation.from));
    return add(root_, operation.path, std::move(value));
  }

  Result<void> copy(const Operation& operation) {
    const Json* found = value_at(root_, operation.from);
    if (found == nullptr) return cannot_be_done();
    copied_bytes_ += rough_size(*found, kMaxCopiedBytes);
    if (copied_bytes_ > kMaxCopiedBytes) return cannot_be_done();
    return add_value(operation.path, Json(*found));
  }

  // A member that is not there passes for null, as with the API server's library: people test so
  // that nobody else has set it. The RFC would let such a test fail.
  Result<void> test(const Operation& operation) {
    const Json* found = value_at(root_, operation.path);
    if (found != nullptr) {
      return equal(*found, *operation.value) ? Result<void>() : cannot_be_done();
    }
    const Json* parent = value_at(root_, operation.path, operation.path.size() - 1);
    bool is_absent_member = parent != nullptr && parent->is_object();
    return is_absent_member && operation.value->is_null() ? Result<void>() : cannot_be_done();
  }

  Json& root_;
  size_t copied_bytes_ = 0;
};

void merge(Json& target, const Json& patch) {
  const JsonObject* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  JsonObject& object = target.get_object();
  for (const auto& change : *changes) {
    if (change.value().is_null()) {
      object.erase(change.key());
    } else {
      merge(object[change.key()], change.value());
    }
  }
}

}  // namespace

Result<void> apply_json_patch(Json& target, const Json& patch) {
  const JsonArray* operations = patch.if_array();
  if (operations == nullptr) return no_patch("a JSON patch is an array of operations");
  if (operations->size() > kMaxOperations) {
    return error(Reason::RequestEntityTooLarge,
                 fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                             kMaxOperations, operations->size()));
  }
  std::vector<Operation> decoded;
  decoded.reserve(operations->size());
  for (const Json& operation : *operations)
    decoded.push_back(TRY(decode_operation(operation)));
  Json changed = target;
  JsonPatch applied(changed);
  for (const Operation& operation : decoded)
    TRY(applied.apply(operation));
  target = std::move(changed);
  return {};
}

Result<void> apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    return error(Reason::BadRequest, "error decoding patch: a merge patch is an object");
  }
  merge(target, patch);
  return {};
}

}  // namespace yard
