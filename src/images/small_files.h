#pragma once
// Small files, read bounded and written whole or not at all.

#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

Result<std::string> read_small_file(const std::string& path, std::size_t most);
// Beside it, synced, then renamed; with mode 0600.
Result<void> write_small_file(const std::string& path, std::string_view content);

}  // namespace yard
