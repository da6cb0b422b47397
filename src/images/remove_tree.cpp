#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "images/unpack.h"

namespace yard {
namespace {

constexpr int kMostDepth = 200;  // a descriptor is open on every step of the way
constexpr int kMostRounds = 1000;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Error failure(const std::string& name) {
  return error(Reason::InternalError,
               fmt::format("cannot remove {}: {}", name, std::strerror(errno)));
}

// What lies too deep is moved up to `top` and emptied from there.
struct Deep {
  int top = -1;
  std::vector<std::string> moved;
};

Result<void> empty_folder(int parent, const char* name, int depth, Deep& deep) {
  if (depth > kMostDepth) {
    const std::string moved = fmt::format(".deep-{}", deep.moved.size());
    if (::renameat(parent, name, deep.top, moved.c_str()) != 0) return failure(name);
    deep.moved.push_back(moved);
    return {};
  }
  int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == EACCES && ::fchmodat(parent, name, 0700, 0) == 0)
    fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? Result<void>() : failure(name);
  ::fchmod(fd, 0700);
  if (depth == 0) deep.top = fd;
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd));
  if (!folder) return failure(name);
  while (const dirent* each = ::readdir(folder.get())) {
    if (std::strcmp(each->d_name, ".") == 0 || std::strcmp(each->d_name, "..") == 0) continue;
    if (each->d_type != DT_DIR && ::unlinkat(fd, each->d_name, 0) == 0) continue;
    if (each->d_type != DT_DIR && errno != EISDIR) return failure(each->d_name);
    TRY(empty_folder(fd, each->d_name, depth + 1, deep));
    if (::unlinkat(fd, each->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT)
      return failure(each->d_name);
  }
  return {};
}

}  // namespace

Result<void> remove_tree(const std::string& folder) {
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    Deep deep;
    TRY(empty_folder(AT_FDCWD, folder.c_str(), 0, deep));
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY) return failure(folder);
  }
  return error(Reason::InternalError, fmt::format("cannot remove {}: too deep", folder));
}

}  // namespace yard
