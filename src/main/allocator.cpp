// How jemalloc, which the linker puts in place of malloc, behaves here: few arenas for few threads,
// what is free goes back to the system within a second. docs/decisions/002-jemalloc.md

#include "main/allocator.h"

#include <cstddef>

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:false,"
    "max_background_threads:1";
// Not there in sanitizer builds, which bring an allocator of their own.
__attribute__((weak)) int mallctl(const char* name, void* old_value, size_t* old_size,
                                  void* new_value, size_t new_size);
}

namespace yard {

void give_back_memory_at_rest() {
  bool on = true;
  if (mallctl != nullptr) mallctl("background_thread", nullptr, nullptr, &on, sizeof on);
}

}  // namespace yard
