// How jemalloc, which the linker puts in place of malloc, behaves here: few arenas for few threads,
// what is free goes back to the system within a second, no thread of its own that wakes up.
// docs/decisions/002-jemalloc.md

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:false";
}
