#pragma once
// The names of this machine's system calls, as profiles of containers write them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace yard {

// nullopt: this machine has no call of that name, or it is younger than we know.
std::optional<uint32_t> system_call_number(std::string_view name);

}  // namespace yard
