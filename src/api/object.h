#pragma once
// What the store, the watch and the lists handle: an object as its encoded bytes plus the few facts
// that selectors, tables and owners need. Immutable once made; shared between threads by ObjectPtr.
//
// The encoding is fixed so that nothing has to be parsed again:
//   {"kind":"Job","apiVersion":"batch/v1","metadata":{"name":...,"resourceVersion":"42"},"spec":...}
// kind and apiVersion come first (a list of built-ins skips that prefix), metadata third, and
// resourceVersion is the last member of metadata, so giving an object its revision moves no slice.
//
// An object is one block of memory, with all its texts. A cold one has its facts at hand and its
// body packed; whoever asks for the body gets it unpacked and notices nothing but the time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

class Packer;
class Object;
using ObjectPtr = std::shared_ptr<const Object>;

class Object {
 public:
  Object();
  ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Encodes `tree` (a JSON object with kind, apiVersion and metadata) without a revision. `fields`
  // are the values of the kind's selectable fields in its order; `cells` is encode_cells() of its
  // table row.
  static ObjectPtr encode(const Json& tree, const std::vector<std::string>& fields,
                          std::string_view cells);
  // The same object at `revision`: the loop's whole work on a write besides the map.
  // It also makes the last state of a deleted object, shown to watchers at the revision of the
  // deletion.
  static ObjectPtr with_revision(const Object& object, Revision revision);
  // The durable form: everything but the body, and back. `restore` is how a start avoids parsing; a
  // checksum over both and checked bounds make it refuse damaged bytes.
  std::string index() const;
  static Result<ObjectPtr> restore(std::string_view index, std::string_view body);

  // The same object, cold. The packer is one for `sample`, the packable() text of an object like
  // it; null when packing is not worth it.
  static ObjectPtr cooled(const Object& object, Packer& packer,
                          const std::shared_ptr<const std::string>& sample);
  static ObjectPtr cooled_again(const Object& thawed);  // without what has been unpacked
  std::string packable() const;
  bool is_cold() const { return cold_ != nullptr; }
  bool is_thawed() const;  // cold, and its body has been asked for: it now holds both

  std::string_view body() const { return warm().body_; }
  size_t body_size() const;  // without unpacking
  // The body behind kind and apiVersion, for items of built-in lists: it begins with "metadata":
  // and ends with the closing brace; whoever writes it puts the opening brace first.
  std::string_view body_without_type() const { return body().substr(facts_.type_prefix); }
  // Its head: {"kind":"Job","apiVersion":"batch/v1",
  std::string_view type() const {
    return (is_cold() ? unescaped_ : body_).substr(0, facts_.type_prefix);
  }
  std::string_view metadata() const {  // the bytes {...} of metadata
    const Object& object = warm();
    return object.text(object.facts_.metadata);
  }
  Json tree(JsonMemory memory = {}) const;  // parsed anew

  Revision revision() const { return facts_.revision; }
  std::string_view name() const { return text(facts_.name); }
  std::string_view ns() const { return text(facts_.ns); }
  std::string_view uid() const { return text(facts_.uid); }
  int64_t generation() const { return facts_.generation; }
  Time created() const { return from_unix_seconds(facts_.created); }
  bool is_being_deleted() const { return facts_.deleting; }
  bool has_finalizers() const { return facts_.has_finalizers; }
  std::optional<std::string_view> label(std::string_view key) const;
  std::vector<OwnerRef> owners() const;
  bool has_owners() const { return !owners_.empty(); }
  std::span<const std::string_view> fields() const { return fields_; }
  std::string_view cells() const { return cells_; }
  // Bytes this object holds, for the ring's and the metrics' bounds; what a cold one has unpacked
  // is left out.
  size_t memory() const;

 private:
  friend class ObjectEncoder;
  friend class ObjectRestorer;
  struct Cold;
  struct Label {
    Slice key, value;
  };
  struct Owner {
    Slice uid, kind, name, api_version;
    bool controller, block;
  };
  struct Facts {
    Slice metadata, name, ns, uid, resource_version;
    uint32_t type_prefix = 0;  // bytes of {"kind":"Job","apiVersion":"batch/v1",
    bool deleting = false;
    bool has_finalizers = false;
    Revision revision = 0;
    int64_t generation = 0;
    int64_t created = 0;
  };
  // What an object is made of; it is copied.
  struct Parts {
    std::string_view body, revision_text, body_end;  // one behind the other
    std::string_view unescaped, cells;
    std::span<const Label> labels;
    std::span<const Owner> owners;
    std::span<const std::string_view> fields;
  };
  static std::shared_ptr<Object> assemble(const Facts& facts, const Parts& parts);
  const Object& warm() const { return is_cold() ? thawed() : *this; }
  const Object& thawed() const;
  std::string unpacked() const;  // of a cold one: as it was packed

  // A text that JSON must escape does not stand in the body as it is; such a slice points into
  // unescaped_. Of a cold object all do but those of metadata and resourceVersion, which are its
  // warm one's.
  static constexpr uint32_t kUnescaped = uint32_t{1} << 31;
  std::string_view text(Slice slice) const {
    if (slice.at & kUnescaped) return unescaped_.substr(slice.at & ~kUnescaped, slice.size);
    return body_.substr(slice.at, slice.size);
  }

  // All point into the block of which this object is the head.
  std::string_view body_;
  std::string_view unescaped_;  // almost always empty
  std::string_view cells_;
  std::span<const Label> labels_;
  std::span<const Owner> owners_;
  std::span<const std::string_view> fields_;
  Facts facts_;
  std::unique_ptr<Cold> cold_;
};

}  // namespace yard
