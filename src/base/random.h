#pragma once
// The only source of chance. Seeded: production seeds it from the kernel, a simulation from its
// seed.

#include <cstdint>
#include <string>

namespace yard {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();                      // uniform over 64 bits (splitmix64)
  uint64_t below(uint64_t bound);       // uniform in [0, bound)
  std::string uuid();                   // version 4
  std::string name_suffix(int length);  // Kubernetes' alphabet bcdfghjklmnpqrstvwxz2456789

 private:
  uint64_t state_;
};

// A seed no one can guess, from getrandom(2).
uint64_t seed_from_kernel();

}  // namespace yard
