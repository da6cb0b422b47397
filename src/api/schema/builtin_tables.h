#pragma once
// The texts the built-in schemas are read from (tables/README.md has the format).

#include <span>
#include <string_view>

namespace yard {

std::span<const std::string_view> builtin_tables();
// `core.v1.Pod.spec: words`, one a line: our own words on the fields people ask about.
std::string_view builtin_descriptions();

}  // namespace yard
