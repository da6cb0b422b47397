#pragma once
// Claims that cannot be false. On in release too: a broken claim stops the process before it can
// write something wrong.

namespace yard {

[[noreturn]] void check_failed(const char* claim, const char* file, int line, const char* function);

// The builtins and not std::source_location: Clang 14, which builds the fuzz targets, cannot read
// GCC 12's.
inline void check(bool claim_holds, const char* claim, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
  if (!claim_holds) [[unlikely]]
    check_failed(claim, file, line, function);
}

}  // namespace yard
