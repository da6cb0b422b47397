#include "base/random.h"

#include <string_view>
#include <sys/random.h>

#include "base/check.h"

namespace yard {

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t Random::below(uint64_t bound) {
  check(bound > 0, "a random number needs a range");
  // Rejection keeps every value equally likely; the loop ends after two rounds on average at worst.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    const uint64_t value = next();
    if (value < limit) return value % bound;
  }
}

std::string Random::uuid() {
  static constexpr std::string_view kHex = "0123456789abcdef";
  uint64_t bits[2] = {next(), next()};
  bits[0] = (bits[0] & 0xffffffffffff0fffULL) | 0x4000ULL;
  bits[1] = (bits[1] & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out.push_back('-');
    out.push_back(kHex[(bits[i / 16] >> (60 - 4 * (i % 16))) & 15]);
  }
  return out;
}

std::string Random::name_suffix(int length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < length; ++i)
    out.push_back(kAlphabet[below(kAlphabet.size())]);
  return out;
}

uint64_t seed_from_kernel() {
  uint64_t seed = 0;
  check(getrandom(&seed, sizeof seed, 0) == sizeof seed, "the kernel gives random bytes");
  return seed;
}

}  // namespace yard
