#pragma once
// Files as the node needs them: small, whole, with an error that says what was tried.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

Error system_error(const std::string& what);  // what: strerror(errno)
Result<void> make_folders(const std::string& path, int mode);
Result<void> write_text(const std::string& path, std::string_view text, int mode,
                        bool synced = false);
// At most `limit` bytes; nullopt when it cannot be read.
std::optional<std::string> read_text(const std::string& path, size_t limit);
// The last `limit` bytes.
std::optional<std::string> read_tail(const std::string& path, size_t limit);
// The folders below have nothing to do with each other: ext4 then puts each where there is room,
// rather than all into one group whose recently freed inodes it searches one by one.
void spread_subfolders(const std::string& folder);
// Made in `neighbour`, a folder of the same filesystem, and moved to its place: ext4 then looks for
// room beside that one rather than in all of its groups. Nothing happens where `path` is there.
Result<void> make_folder_beside(const std::string& neighbour, const std::string& path, int mode);
void remove_folder(const std::string& path);  // and all below; what cannot be removed is logged

}  // namespace yard
