#pragma once
// resource.Quantity: 100m, 1.5Gi, 2e3. Exact to a nano-unit.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

class Quantity {
 public:
  Quantity() = default;
  // BadRequest with Go's words: quantities must match the regular expression '...'.
  static Result<Quantity> parse(std::string_view text);
  static Quantity of(int64_t value);
  std::string canonical() const;  // 0.5 -> 500m, 1024Mi -> 1Gi, 1e3 kept as 1e3
  int64_t value() const;          // rounded up, saturated
  int64_t milli() const;          // rounded up, saturated
  bool is_negative() const { return nanos_ < 0; }
  bool is_zero() const { return nanos_ == 0; }
  bool is_integer() const { return nanos_ % 1'000'000'000 == 0; }
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  std::strong_ordering operator<=>(const Quantity& other) const {
    return nanos_ < other.nanos_   ? std::strong_ordering::less
           : nanos_ > other.nanos_ ? std::strong_ordering::greater
                                   : std::strong_ordering::equal;
  }
  bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }

 private:
  enum class Format : uint8_t { Decimal, Binary, Exponent };
  __int128 nanos_ = 0;  // saturates far beyond what Kubernetes allows (2^63-1 units)
  Format format_ = Format::Decimal;
};

}  // namespace yard
