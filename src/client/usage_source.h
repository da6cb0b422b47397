#pragma once
// What pods and the machine use of processors and memory. Implemented by node/, asked by apiserver/
// for `kubectl top`. Loop thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/time.h"

namespace yard {

struct Use {
  int64_t nanocores = 0, memory_bytes = 0;
};

struct UsageReport {
  Time at{};
  Duration window{};  // over which the processors were looked at
  std::string node;   // this machine; "": nothing runs here
  Use machine;
  std::map<std::string, std::map<std::string, Use>> pods;  // uid → container
};

class UsageSource {
 public:
  virtual ~UsageSource() = default;
  // Takes up to a second. Never inline.
  virtual void measure(std::function<void(const UsageReport&)> done) = 0;
};

}  // namespace yard
