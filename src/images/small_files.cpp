#include "images/small_files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/descriptor.h"

namespace yard {
namespace {

Error failure(std::string_view doing, const std::string& path) {
  return error(errno == ENOENT ? Reason::NotFound : Reason::InternalError,
               fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return failure("open", path);
  std::string out;
  char buffer[16 << 10];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("read", path);
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > most)
      return error(Reason::Invalid, fmt::format("{} is longer than {} bytes", path, most));
  }
}

Result<void> write_small_file(const std::string& path, std::string_view content) {
  std::string staged = path + ".XXXXXX";
  const Descriptor file(::mkostemp(staged.data(), O_CLOEXEC));
  if (!file.is_open()) return failure("write", path);
  std::string_view rest = content;
  while (!rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (rest.empty() && ::fsync(file.get()) == 0 && ::rename(staged.c_str(), path.c_str()) == 0)
    return {};
  const Error problem = failure("write", path);
  ::unlink(staged.c_str());
  return problem;
}

}  // namespace yard
