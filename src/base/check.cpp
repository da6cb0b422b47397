#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace yard {

void check_failed(const char* claim, std::source_location where) {
  std::fprintf(stderr, "trainyard: this should be true but is not: %s (%s:%u, %s)\n", claim,
               where.file_name(), where.line(), where.function_name());
  std::abort();
}

}  // namespace yard
