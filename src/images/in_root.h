#pragma once
// Paths that anybody may have made up, resolved by the kernel as if a folder were the root: links
// lead nowhere else, whoever made them.

#include <cstdint>

namespace yard {

// A descriptor, or -1 with errno.
int open_in_root(int root, const char* path, std::uint64_t flags);

}  // namespace yard
