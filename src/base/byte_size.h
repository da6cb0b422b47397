#pragma once

#include <cstdint>
#include <string>

namespace yard {

std::string byte_size(uint64_t bytes);  // 812 B, 4.0 KiB, 1.5 GiB

}  // namespace yard
