#include "api/object.h"

#include <charconv>
#include <utility>

#include "base/check.h"

namespace yard {

// Writes the fixed encoding and notes where things stand while writing them.
class ObjectEncoder {
 public:
  static ObjectPtr encode(const Json& tree, std::vector<std::string> fields, std::string cells) {
    check(tree.is_object(), "an encoded tree is a JSON object");
    auto object = std::make_shared<Object>();
    object->fields_ = std::move(fields);
    object->cells_ = std::move(cells);
    // Written where there is room already, and copied once its size is known.
    thread_local std::string scratch;
    scratch.clear();
    ObjectEncoder encoder(*object, scratch);
    encoder.write_object(tree.get_object());
    check(scratch.size() < Object::kUnescaped, "an object is smaller than 2 GiB");
    object->body_ = std::string(scratch);
    if (scratch.capacity() > kKeptScratch) scratch = std::string();
    return object;
  }

 private:
  static constexpr size_t kKeptScratch = 64 * 1024;

  ObjectEncoder(Object& object, std::string& out) : object_(object), out_(out) {}

  void write_object(const JsonObject& tree) {
    out_ += R"({"kind":)";
    append_quoted(out_, member_text(tree, "kind"));
    out_ += R"(,"apiVersion":)";
    append_quoted(out_, member_text(tree, "apiVersion"));
    out_ += ',';
    object_.type_prefix_ = static_cast<uint32_t>(out_.size());
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
    object_.resource_version_ = {static_cast<uint32_t>(out_.size()), 0};
    out_ += "\"}";
    object_.metadata_ = slice_from(start);
  }

  void write_metadata_member(std::string_view key, const Json& value) {
    if (value.is_string()) {
      const Slice slice = write_text(value.get_string());
      if (key == "name") object_.name_ = slice;
      if (key == "namespace") object_.namespace_ = slice;
      if (key == "uid") object_.uid_ = slice;
      if (key == "deletionTimestamp") object_.deleting_ = true;
      if (key == "creationTimestamp") {
        if (const auto time = parse_rfc3339(value.get_string()))
          object_.created_ = unix_seconds(*time);
      }
    } else if (key == "labels" && value.is_object()) {
      write_labels(value.get_object());
    } else if (key == "ownerReferences" && value.is_array()) {
      write_owners(value.get_array());
    } else {
      if (key == "generation" && value.is_int64()) object_.generation_ = value.get_int64();
      if (key == "finalizers" && value.is_array())
        object_.has_finalizers_ = !value.get_array().empty();
      append_text(out_, value);
    }
  }

  void write_labels(const JsonObject& labels) {
    object_.labels_.reserve(labels.size());
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : labels) {
      if (!std::exchange(first, false)) out_ += ',';
      const Slice key_slice = write_text(key);
      out_ += ':';
      if (const auto* text = value.if_string()) {
        object_.labels_.push_back({key_slice, write_text(*text)});
      } else {
        append_text(out_, value);
      }
    }
    out_ += '}';
  }

  void write_owners(const JsonArray& owners) {
    object_.owners_.reserve(owners.size());
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
    object_.owners_.push_back(owner);
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
    const auto at = static_cast<uint32_t>(object_.unescaped_.size());
    object_.unescaped_ += text;
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

  Object& object_;
  std::string& out_;
};

ObjectPtr Object::encode(const Json& tree, std::vector<std::string> fields, std::string cells) {
  return ObjectEncoder::encode(tree, std::move(fields), std::move(cells));
}

ObjectPtr Object::with_revision(const Object& object, Revision revision) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), revision).ptr;
  const std::string_view text(digits, revision == 0 ? 0 : static_cast<size_t>(end - digits));

  auto copy = std::make_shared<Object>();
  const Slice place = object.resource_version_;
  const std::string_view body = object.body_;
  copy->body_.reserve(body.size() - place.size + text.size());
  copy->body_.append(body.substr(0, place.at))
      .append(text)
      .append(body.substr(place.at + place.size));
  copy->unescaped_ = object.unescaped_;
  copy->metadata_ = object.metadata_;
  copy->metadata_.size += static_cast<uint32_t>(text.size()) - place.size;
  copy->name_ = object.name_;
  copy->namespace_ = object.namespace_;
  copy->uid_ = object.uid_;
  copy->resource_version_ = {place.at, static_cast<uint32_t>(text.size())};
  copy->type_prefix_ = object.type_prefix_;
  copy->revision_ = revision;
  copy->generation_ = object.generation_;
  copy->created_ = object.created_;
  copy->deleting_ = object.deleting_;
  copy->has_finalizers_ = object.has_finalizers_;
  copy->labels_ = object.labels_;
  copy->owners_ = object.owners_;
  copy->fields_ = object.fields_;
  copy->cells_ = object.cells_;
  return copy;
}

Json Object::tree(JsonMemory memory) const {
  auto parsed = parse_json(body_, {}, std::move(memory));
  check(parsed.has_value(), "a stored object is valid JSON");
  return std::move(parsed->value);
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

size_t Object::memory() const {
  size_t bytes = sizeof(Object) + body_.capacity() + unescaped_.capacity() + cells_.capacity() +
                 labels_.capacity() * sizeof(Label) + owners_.capacity() * sizeof(Owner) +
                 fields_.capacity() * sizeof(std::string);
  for (const std::string& field : fields_)
    bytes += field.capacity();
  return bytes;
}

}  // namespace yard
