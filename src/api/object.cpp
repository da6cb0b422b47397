#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <utility>

#include "api/object_cold.h"
#include "base/check.h"

namespace yard {

namespace {

// Allocates what it is asked for with so many bytes behind it, and says where they begin.
template <typename T>
struct WithRoomBehind {
  using value_type = T;
  size_t room;
  char** begin;

  WithRoomBehind(size_t bytes, char** where) : room(bytes), begin(where) {}
  template <typename Other>
  WithRoomBehind(const WithRoomBehind<Other>& other)  // NOLINT: allocators convert
      : room(other.room), begin(other.begin) {}
  T* allocate(size_t count) {
    auto* block = static_cast<char*>(::operator new(count * sizeof(T) + room));
    *begin = block + count * sizeof(T);
    return reinterpret_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { ::operator delete(block); }
  template <typename Other>
  bool operator==(const WithRoomBehind<Other>&) const {
    return true;
  }
};

// Hands out the bytes behind an object, in order.
class Room {
 public:
  explicit Room(char* begin) : at_(begin) {}
  template <typename T>
  std::span<T> array(size_t size) {
    auto* begin = reinterpret_cast<T*>(at_);
    at_ += size * sizeof(T);
    return {begin, size};
  }
  template <typename T>
  std::span<const T> copy(std::span<const T> values) {
    const std::span<T> place = array<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), place.begin());
    return place;
  }
  std::string_view copy(std::string_view text) {
    char* begin = at_;
    at_ = std::copy(text.begin(), text.end(), at_);
    return {begin, text.size()};
  }

 private:
  char* at_;
};

}  // namespace

Object::Object() = default;
Object::~Object() = default;

std::shared_ptr<Object> Object::assemble(const Facts& facts, const Parts& parts) {
  size_t room = parts.fields.size_bytes() + parts.labels.size_bytes() + parts.owners.size_bytes();
  for (const std::string_view text :
       {parts.body, parts.revision_text, parts.body_end, parts.unescaped, parts.cells})
    room += text.size();
  for (const std::string_view field : parts.fields)
    room += field.size();

  char* begin = nullptr;
  auto object = std::allocate_shared<Object>(WithRoomBehind<Object>(room, &begin));
  object->facts_ = facts;
  // What has to be aligned comes first.
  Room behind(begin);
  const auto fields = behind.array<std::string_view>(parts.fields.size());
  object->fields_ = fields;
  object->labels_ = behind.copy(parts.labels);
  object->owners_ = behind.copy(parts.owners);
  object->body_ = behind.copy(parts.body);
  behind.copy(parts.revision_text);
  behind.copy(parts.body_end);
  object->body_ = {object->body_.data(),
                   parts.body.size() + parts.revision_text.size() + parts.body_end.size()};
  object->unescaped_ = behind.copy(parts.unescaped);
  object->cells_ = behind.copy(parts.cells);
  for (size_t i = 0; i < fields.size(); ++i)
    new (&fields[i]) std::string_view(behind.copy(parts.fields[i]));
  return object;
}

// Writes the fixed encoding and notes where things stand while writing them.
class ObjectEncoder {
 public:
  static ObjectPtr encode(const Json& tree, const std::vector<std::string>& fields,
                          std::string_view cells) {
    check(tree.is_object(), "an encoded tree is a JSON object");
    // One a thread, so that most encodings need no memory but their object's.
    thread_local ObjectEncoder encoder;
    return encoder.object(tree.get_object(), fields, cells);
  }

 private:
  static constexpr size_t kMostKept = 64 << 10;

  ObjectPtr object(const JsonObject& tree, const std::vector<std::string>& fields,
                   std::string_view cells) {
    out_.clear();
    unescaped_.clear();
    labels_.clear();
    owners_.clear();
    facts_ = {};
    write_object(tree);
    check(out_.size() < Object::kUnescaped, "an object is smaller than 2 GiB");
    fields_.assign(fields.begin(), fields.end());
    auto made = Object::assemble(facts_, {.body = out_,
                                          .revision_text = {},
                                          .body_end = {},
                                          .unescaped = unescaped_,
                                          .cells = cells,
                                          .labels = labels_,
                                          .owners = owners_,
                                          .fields = fields_});
    if (out_.capacity() > kMostKept) out_ = {};
    return made;
  }

  void write_object(const JsonObject& tree) {
    out_ += R"({"kind":)";
    append_quoted(out_, member_text(tree, "kind"));
    out_ += R"(,"apiVersion":)";
    append_quoted(out_, member_text(tree, "apiVersion"));
    out_ += ',';
    facts_.type_prefix = static_cast<uint32_t>(out_.size());
    out_ += R"("metadata":)";
    const Json* metadata = tree.if_contains("metadata");
    write_metadata(metadata ? metadata->if_object() : nullptr);
    for (const auto& [key, value] : tree) {
      if (key == "kind" || key == "apiVersion" || key == "metadata") continue;
      out_ += ',';
      write_key(key);
      append_text(out_, value);
    }
    out_ += '}';
  }

  void write_metadata(const JsonObject* metadata) {
    const size_t start = out_.size();
    out_ += '{';
    if (metadata) {
      for (const auto& [key, value] : *metadata) {
        if (key == "resourceVersion") continue;
        write_key(key);
        write_metadata_member(key, value);
        out_ += ',';
      }
    }
    out_ += R"("resourceVersion":")";
    facts_.resource_version = {static_cast<uint32_t>(out_.size()), 0};
    out_ += "\"}";
    facts_.metadata = slice_from(start);
  }

  void write_metadata_member(std::string_view key, const Json& value) {
    if (value.is_string()) {
      const Slice slice = write_text(value.get_string());
      if (key == "name") facts_.name = slice;
      if (key == "namespace") facts_.ns = slice;
      if (key == "uid") facts_.uid = slice;
      if (key == "deletionTimestamp") facts_.deleting = true;
      if (key == "creationTimestamp") {
        if (const auto time = parse_rfc3339(value.get_string()))
          facts_.created = unix_seconds(*time);
      }
    } else if (key == "labels" && value.is_object()) {
      write_labels(value.get_object());
    } else if (key == "ownerReferences" && value.is_array()) {
      write_owners(value.get_array());
    } else {
      if (key == "generation" && value.is_int64()) facts_.generation = value.get_int64();
      if (key == "finalizers" && value.is_array())
        facts_.has_finalizers = !value.get_array().empty();
      append_text(out_, value);
    }
  }

  void write_labels(const JsonObject& labels) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : labels) {
      if (!std::exchange(first, false)) out_ += ',';
      const Slice key_slice = write_text(key);
      out_ += ':';
      if (const auto* text = value.if_string()) {
        labels_.push_back({key_slice, write_text(*text)});
      } else {
        append_text(out_, value);
      }
    }
    out_ += '}';
  }

  void write_owners(const JsonArray& owners) {
    out_ += '[';
    bool first = true;
    for (const Json& owner : owners) {
      if (!std::exchange(first, false)) out_ += ',';
      if (const auto* members = owner.if_object()) {
        write_owner(*members);
      } else {
        append_text(out_, owner);
      }
    }
    out_ += ']';
  }

  void write_owner(const JsonObject& members) {
    Object::Owner owner{};
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : members) {
      if (!std::exchange(first, false)) out_ += ',';
      write_key(key);
      if (const auto* text = value.if_string()) {
        const Slice slice = write_text(*text);
        if (key == "uid") owner.uid = slice;
        if (key == "kind") owner.kind = slice;
        if (key == "name") owner.name = slice;
        if (key == "apiVersion") owner.api_version = slice;
      } else {
        if (key == "controller") owner.controller = value.is_bool() && value.get_bool();
        if (key == "blockOwnerDeletion") owner.block = value.is_bool() && value.get_bool();
        append_text(out_, value);
      }
    }
    out_ += '}';
    owners_.push_back(owner);
  }

  void write_key(std::string_view key) {
    append_quoted(out_, key);
    out_ += ':';
  }

  // Every escape is longer than what it stands for, so an unchanged length means an unchanged text.
  Slice write_text(std::string_view text) {
    const size_t start = out_.size();
    append_quoted(out_, text);
    const auto size = static_cast<uint32_t>(text.size());
    if (out_.size() - start == text.size() + 2) return {static_cast<uint32_t>(start + 1), size};
    const auto at = static_cast<uint32_t>(unescaped_.size());
    unescaped_ += text;
    return {at | Object::kUnescaped, size};
  }

  Slice slice_from(size_t start) const {
    return {static_cast<uint32_t>(start), static_cast<uint32_t>(out_.size() - start)};
  }

  static std::string_view member_text(const JsonObject& tree, std::string_view key) {
    const Json* value = tree.if_contains(key);
    if (!value || !value->is_string()) return {};
    return value->get_string();
  }

  std::string out_, unescaped_;
  Object::Facts facts_;
  std::vector<Object::Label> labels_;
  std::vector<Object::Owner> owners_;
  std::vector<std::string_view> fields_;
};

ObjectPtr Object::encode(const Json& tree, const std::vector<std::string>& fields,
                         std::string_view cells) {
  return ObjectEncoder::encode(tree, fields, cells);
}

ObjectPtr Object::with_revision(const Object& object, Revision revision) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), revision).ptr;
  const std::string_view text(digits, revision == 0 ? 0 : static_cast<size_t>(end - digits));

  const Object& from = object.warm();
  const Slice place = from.facts_.resource_version;
  Facts facts = from.facts_;
  facts.metadata.size += static_cast<uint32_t>(text.size()) - place.size;
  facts.resource_version.size = static_cast<uint32_t>(text.size());
  facts.revision = revision;
  return assemble(facts, {.body = from.body_.substr(0, place.at),
                          .revision_text = text,
                          .body_end = from.body_.substr(place.at + place.size),
                          .unescaped = from.unescaped_,
                          .cells = from.cells_,
                          .labels = from.labels_,
                          .owners = from.owners_,
                          .fields = from.fields_});
}

std::optional<std::string_view> Object::label(std::string_view key) const {
  for (const Label& label : labels_) {
    if (text(label.key) == key) return text(label.value);
  }
  return std::nullopt;
}

std::vector<OwnerRef> Object::owners() const {
  std::vector<OwnerRef> owners;
  owners.reserve(owners_.size());
  for (const Owner& owner : owners_) {
    owners.push_back({.uid = text(owner.uid),
                      .kind = text(owner.kind),
                      .name = text(owner.name),
                      .api_version = text(owner.api_version),
                      .controller = owner.controller,
                      .block_owner_deletion = owner.block});
  }
  return owners;
}

}  // namespace yard
