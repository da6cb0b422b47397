#pragma once
// What the store, the watch and the lists handle: an object as its encoded bytes plus the few facts that
// selectors, tables and owners need. Immutable once made; shared between threads by ObjectPtr.
//
// The encoding is fixed so that nothing has to be parsed again:
//   {"kind":"Job","apiVersion":"batch/v1","metadata":{"name":...,"resourceVersion":"42"},"spec":...}
// kind and apiVersion come first (a list of built-ins skips that prefix), metadata third, and
// resourceVersion is the last member of metadata, so giving an object its revision moves no slice.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/json.h"

namespace yard {

using Revision = uint64_t;  // 0: none yet

struct Slice {
  uint32_t at = 0;
  uint32_t size = 0;
};

struct OwnerRef {
  std::string_view uid, kind, name, api_version;
  bool controller = false;
  bool block_owner_deletion = false;
};

class Object;
using ObjectPtr = std::shared_ptr<const Object>;

class Object {
 public:
  // Encodes `tree` (a JSON object with kind, apiVersion and metadata) without a revision. `fields` are the
  // values of the kind's selectable fields in its order; `cells` is encode_cells() of its table row.
  static ObjectPtr encode(const Json& tree, std::vector<std::string> fields, std::string cells);
  // The same object at `revision`: the loop's whole work on a write besides the map.
  // It also makes the last state of a deleted object, shown to watchers at the revision of the deletion.
  static ObjectPtr with_revision(const Object& object, Revision revision);
  // The durable form: everything but the body, and back. `restore` is how a start avoids parsing; a checksum
  // over both and checked bounds make it refuse damaged bytes.
  std::string index() const;
  static Result<ObjectPtr> restore(std::string_view index, std::string_view body);

  std::string_view body() const { return body_; }
  // The body behind kind and apiVersion, for items of built-in lists: it begins with "metadata": and ends
  // with the closing brace; whoever writes it puts the opening brace first.
  std::string_view body_without_type() const { return std::string_view(body_).substr(type_prefix_); }
  std::string_view metadata() const { return text(metadata_); }  // the bytes {...} of metadata
  Json tree(JsonMemory memory = {}) const;                       // parsed anew

  Revision revision() const { return revision_; }
  std::string_view name() const { return text(name_); }
  std::string_view ns() const { return text(namespace_); }
  std::string_view uid() const { return text(uid_); }
  int64_t generation() const { return generation_; }
  Time created() const { return from_unix_seconds(created_); }
  bool is_being_deleted() const { return deleting_; }
  bool has_finalizers() const { return has_finalizers_; }
  std::optional<std::string_view> label(std::string_view key) const;
  std::vector<OwnerRef> owners() const;
  bool has_owners() const { return !owners_.empty(); }
  const std::vector<std::string>& fields() const { return fields_; }
  std::string_view cells() const { return cells_; }
  size_t memory() const;  // bytes this object holds, for the ring's and the metrics' bounds

 private:
  friend class ObjectEncoder;
  friend class ObjectRestorer;
  struct Label {
    Slice key, value;
  };
  struct Owner {
    Slice uid, kind, name, api_version;
    bool controller, block;
  };
  // A text that JSON must escape does not stand in the body as it is; such a slice points into unescaped_.
  static constexpr uint32_t kUnescaped = uint32_t{1} << 31;
  std::string_view text(Slice slice) const {
    if (slice.at & kUnescaped) return std::string_view(unescaped_).substr(slice.at & ~kUnescaped, slice.size);
    return std::string_view(body_).substr(slice.at, slice.size);
  }

  std::string body_;
  std::string unescaped_;  // almost always empty
  Slice metadata_, name_, namespace_, uid_, resource_version_;
  uint32_t type_prefix_ = 0;  // bytes of {"kind":"Job","apiVersion":"batch/v1",
  Revision revision_ = 0;
  int64_t generation_ = 0;
  int64_t created_ = 0;
  bool deleting_ = false;
  bool has_finalizers_ = false;
  std::vector<Label> labels_;
  std::vector<Owner> owners_;
  std::vector<std::string> fields_;
  std::string cells_;
};

}  // namespace yard
