#pragma once
// Claims that cannot be false. On in release too: a broken claim stops the process before it can
// write something wrong.

#include <source_location>

namespace yard {

[[noreturn]] void check_failed(const char* claim, std::source_location where);

inline void check(bool claim_holds, const char* claim,
                  std::source_location where = std::source_location::current()) {
  if (!claim_holds) [[unlikely]]
    check_failed(claim, where);
}

}  // namespace yard
