#pragma once
// Where the keys of a YAML text stand, for messages about settings that were read well and mean
// nothing.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace yard {

struct YamlPlace {
  size_t line = 1, column = 1;  // both from 1
};

// The place of the innermost key of `path` that is there, in the first document.
std::optional<YamlPlace> yaml_place(std::string_view text, std::span<const std::string> path);

}  // namespace yard
