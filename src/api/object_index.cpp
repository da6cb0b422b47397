// The durable form of an object's facts: a version byte, varints and texts, and a checksum over
// index and body.

#include <algorithm>
#include <charconv>
#include <cstring>

#include "api/object.h"

namespace yard {
namespace {

constexpr char kVersion = 1;
constexpr size_t kChecksumBytes = 8;

// Tells damage, not malice. Four lanes, because a multiplication waits for the one before it and
// a start reads every byte of 100,000 objects.
class Checksum {
 public:
  uint64_t of(uint64_t seed, std::string_view bytes) {
    for (uint64_t& lane : lanes_)
      lane = (seed ^ bytes.size()) + kOdd * static_cast<uint64_t>(&lane - lanes_ + 1);
    for (; bytes.size() >= sizeof lanes_; bytes.remove_prefix(sizeof lanes_)) {
      uint64_t words[4];
      std::memcpy(words, bytes.data(), sizeof words);
      for (int i = 0; i < 4; ++i)
        mix(lanes_[i], words[i]);
    }
    for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(8, bytes.size()))) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
      mix(lanes_[0], word);
    }
    for (int i = 1; i < 4; ++i)
      mix(lanes_[0], lanes_[i]);
    return lanes_[0];
  }

 private:
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  static void mix(uint64_t& lane, uint64_t word) {
    lane = (lane ^ word) * kOdd;
    lane ^= lane >> 32;
  }
  uint64_t lanes_[4];
};

uint64_t checksum(uint64_t seed, std::string_view bytes) {
  return Checksum().of(seed, bytes);
}

class IndexWriter {
 public:
  IndexWriter() {
    out_.reserve(192);
    out_ += kVersion;
  }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void signed_number(int64_t value) {
    number((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void slice(Slice slice) {
    number(slice.at);
    number(slice.size);
  }
  void text(std::string_view text) {
    number(text.size());
    out_ += text;
  }
  std::string finish(std::string_view body) {
    const uint64_t sum = checksum(checksum(0, out_), body);
    out_.append(reinterpret_cast<const char*>(&sum), kChecksumBytes);
    return std::move(out_);
  }

 private:
  std::string out_;
};

// Reads past the end yield zeros and are remembered: the caller asks failed() once.
class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  uint32_t number32() {
    const uint64_t value = number();
    if (value > UINT32_MAX) failed_ = true;
    return static_cast<uint32_t>(value);
  }
  Slice slice() {
    const uint32_t at = number32();
    return {at, number32()};
  }
  std::string_view text() {
    const uint64_t size = number();
    if (size > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  // Of entries that take at least a byte each, so that a hostile count allocates nothing.
  size_t count() {
    const uint64_t count = number();
    if (count <= bytes_.size()) return count;
    failed_ = true;
    return 0;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

enum Flag : uint8_t { kDeleting = 1, kHasFinalizers = 2, kController = 1, kBlock = 2 };

Error damaged(const char* what) {
  return error(Reason::InternalError, std::string("a stored object is damaged: ") + what);
}

}  // namespace

std::string Object::index() const {
  if (is_cold()) return warm().index();
  IndexWriter out;
  out.text(unescaped_);
  out.number(facts_.type_prefix);
  for (const Slice& slice :
       {facts_.metadata, facts_.name, facts_.ns, facts_.uid, facts_.resource_version})
    out.slice(slice);
  out.number(facts_.revision);
  out.signed_number(facts_.generation);
  out.signed_number(facts_.created);
  out.number((facts_.deleting ? kDeleting : 0) | (facts_.has_finalizers ? kHasFinalizers : 0));
  out.number(labels_.size());
  for (const Label& label : labels_) {
    out.slice(label.key);
    out.slice(label.value);
  }
  out.number(owners_.size());
  for (const Owner& owner : owners_) {
    for (const Slice& slice : {owner.uid, owner.kind, owner.name, owner.api_version})
      out.slice(slice);
    out.number((owner.controller ? kController : 0) | (owner.block ? kBlock : 0));
  }
  out.number(fields_.size());
  for (const std::string_view field : fields_)
    out.text(field);
  out.text(cells_);
  return out.finish(body_);
}

class ObjectRestorer {
 public:
  static Result<ObjectPtr> restore(std::string_view index, std::string_view body) {
    if (index.size() <= kChecksumBytes || body.size() >= Object::kUnescaped)
      return damaged("its size");
    if (index.front() != kVersion) return damaged("the version of its index is unknown");
    uint64_t sum;
    std::memcpy(&sum, index.data() + index.size() - kChecksumBytes, kChecksumBytes);
    index.remove_suffix(kChecksumBytes);
    if (sum != checksum(checksum(0, index), body)) return damaged("its checksum differs");

    // One a thread, so that most objects need no memory but their own.
    thread_local ObjectRestorer restorer;
    return restorer.object(index.substr(1), body);
  }

 private:
  Result<ObjectPtr> object(std::string_view index, std::string_view body) {
    in_ = IndexReader(index);
    body_ = body;
    outside_ = false;
    facts_ = {};
    read();
    if (in_.failed() || !in_.at_end()) return damaged("its index is cut short or too long");
    if (outside_) return damaged("its index points outside of it");
    if (!revision_stands_in_body()) return damaged("its resourceVersion differs");
    return ObjectPtr(Object::assemble(facts_, {.body = body_,
                                               .revision_text = {},
                                               .body_end = {},
                                               .unescaped = unescaped_,
                                               .cells = cells_,
                                               .labels = labels_,
                                               .owners = owners_,
                                               .fields = fields_}));
  }

  void read() {
    unescaped_ = in_.text();
    facts_.type_prefix = in_.number32();
    if (facts_.type_prefix > body_.size()) outside_ = true;
    for (Slice* slice :
         {&facts_.metadata, &facts_.name, &facts_.ns, &facts_.uid, &facts_.resource_version}) {
      *slice = read_slice();
    }
    facts_.revision = in_.number();
    facts_.generation = in_.signed_number();
    facts_.created = in_.signed_number();
    const uint64_t flags = in_.number();
    facts_.deleting = flags & kDeleting;
    facts_.has_finalizers = flags & kHasFinalizers;
    labels_.resize(in_.count());
    for (Object::Label& label : labels_) {
      label.key = read_slice();
      label.value = read_slice();
    }
    owners_.resize(in_.count());
    for (Object::Owner& owner : owners_)
      read_owner(owner);
    fields_.resize(in_.count());
    for (std::string_view& field : fields_)
      field = in_.text();
    cells_ = in_.text();
  }

  void read_owner(Object::Owner& owner) {
    for (Slice* slice : {&owner.uid, &owner.kind, &owner.name, &owner.api_version})
      *slice = read_slice();
    const uint64_t flags = in_.number();
    owner.controller = flags & kController;
    owner.block = flags & kBlock;
  }

  Slice read_slice() {
    const Slice slice = in_.slice();
    const bool unescaped = slice.at & Object::kUnescaped;
    const uint64_t end = uint64_t{slice.at & ~Object::kUnescaped} + slice.size;
    if (end <= (unescaped ? unescaped_ : body_).size()) return slice;
    outside_ = true;
    return {};
  }

  // with_revision moves nothing but what follows these digits: they must be the last member of
  // metadata.
  bool revision_stands_in_body() const {
    const Slice digits = facts_.resource_version, metadata = facts_.metadata;
    if ((digits.at | metadata.at) & Object::kUnescaped) return false;
    if (digits.at < metadata.at || digits.at + digits.size + 2 != metadata.at + metadata.size)
      return false;
    char expected[20];
    const auto end = std::to_chars(expected, expected + sizeof(expected), facts_.revision).ptr;
    const auto size = facts_.revision == 0 ? 0 : static_cast<size_t>(end - expected);
    return body_.substr(digits.at, digits.size) == std::string_view(expected, size);
  }

  IndexReader in_{{}};
  std::string_view body_, unescaped_, cells_;
  Object::Facts facts_;
  std::vector<Object::Label> labels_;
  std::vector<Object::Owner> owners_;
  std::vector<std::string_view> fields_;
  bool outside_ = false;
};

Result<ObjectPtr> Object::restore(std::string_view index, std::string_view body) {
  return ObjectRestorer::restore(index, body);
}

}  // namespace yard
