#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace yard {

void check_failed(const char* claim, const char* file, int line, const char* function) {
  std::fprintf(stderr, "trainyard: this should be true but is not: %s (%s:%d, %s)\n", claim, file,
               line, function);
  std::abort();
}

}  // namespace yard
