#pragma once
// The protobuf wire format, as far as reading it goes. Never reads past the end.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace yard {

class WireReader {
 public:
  enum class Kind : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  struct Value {
    uint32_t number = 0;
    Kind kind = Kind::Varint;
    uint64_t bits = 0;       // of Varint, Fixed64 and Fixed32
    std::string_view bytes;  // of Bytes
  };

  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  // The next field; false on broken bytes (groups, which Kubernetes never uses, count as broken).
  bool read(Value& value);
  bool read_varint(uint64_t& bits);  // also for packed scalars
  bool read_fixed(uint64_t& bits, size_t size);

 private:
  std::string_view rest_;
};

inline bool WireReader::read_varint(uint64_t& bits) {
  bits = 0;
  for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    if (i == 9 && byte > 1) return false;
    bits |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

inline bool WireReader::read_fixed(uint64_t& bits, size_t size) {
  if (rest_.size() < size) return false;
  bits = 0;
  for (size_t i = 0; i < size; ++i) {
    bits |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

inline bool WireReader::read(Value& value) {
  uint64_t tag = 0;
  if (!read_varint(tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  value.number = static_cast<uint32_t>(tag >> 3);
  value.kind = static_cast<Kind>(tag & 7);
  value.bytes = {};
  switch (value.kind) {
    case Kind::Varint: return read_varint(value.bits);
    case Kind::Fixed64: return read_fixed(value.bits, 8);
    case Kind::Fixed32: return read_fixed(value.bits, 4);
    case Kind::Bytes: {
      uint64_t size = 0;
      if (!read_varint(size) || size > rest_.size()) return false;
      value.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
  }
  return false;
}

}  // namespace yard
