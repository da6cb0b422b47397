#pragma once
// Whether and when a registry is asked once more. Pure.

#include <optional>

#include "base/result.h"
#include "base/time.h"

namespace yard {

struct FailedTry {
  const Error* failure;    // with its fault, and the seconds the server asked us to wait
  int failures = 1;        // in a row, this one counted
  bool is_mirror = false;  // somebody else can be asked instead
  double chance = 0.5;     // 0 to below 1: not all clients come back at one moment
};

// How long to wait before the next try; nothing when there is none.
std::optional<Duration> wait_before_retry(const FailedTry& tried);

}  // namespace yard
