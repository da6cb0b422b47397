#include "main/state_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (const std::string home = environment("HOME"); !home.empty()) return home;
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? "" : entry->pw_dir;
}

Error cannot(std::string_view what, const std::string& path) {
  return error(Reason::InternalError,
               fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

Result<StateFolder> StateFolder::locate(const std::string& given) {
  std::string path = given;
  if (path.empty()) path = environment("TRAINYARD_STATE");
  if (path.empty() && !environment("XDG_STATE_HOME").empty())
    path = environment("XDG_STATE_HOME") + "/trainyard";
  if (path.empty() && !home_folder().empty()) path = home_folder() + "/.local/state/trainyard";
  if (path.empty())
    return error(Reason::BadRequest, "no state folder: set HOME, or name one with --state DIR");
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return StateFolder(failed ? path : absolute.lexically_normal().string());
}

Result<void> StateFolder::make() const {
  std::error_code failed;
  std::filesystem::create_directories(path_, failed);
  if (failed) {
    return error(Reason::InternalError,
                 fmt::format("cannot make the state folder {}: {}; choose another with --state DIR",
                             path_, failed.message()));
  }
  if (chmod(path_.c_str(), 0700) != 0 && errno != EPERM)
    return cannot("protect the state folder", path_);
  if (access(path_.c_str(), W_OK | X_OK) != 0) {
    return error(
        Reason::InternalError,
        fmt::format("the state folder {} cannot be written ({}); choose another with --state DIR",
                    path_, std::strerror(errno)));
  }
  return {};
}

std::optional<std::string> StateFolder::read(std::string_view name) const {
  std::ifstream in(file(name), std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

Result<void> StateFolder::write(std::string_view name, std::string_view content) const {
  const std::string target = file(name), aside = target + ".new";
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("write", aside);
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Error failed = cannot("write", aside);
      close(fd);
      return failed;
    }
    written += static_cast<size_t>(count);
  }
  const bool synced = fchmod(fd, 0600) == 0 && fsync(fd) == 0;
  close(fd);
  if (!synced) return cannot("sync", aside);
  if (rename(aside.c_str(), target.c_str()) != 0) return cannot("write", target);
  return {};
}

void StateFolder::remove(std::string_view name) const {
  unlink(file(name).c_str());
}

Result<bool> StateFolder::take_lock() {
  const int fd = open(file("server.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("open", file("server.lock"));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return false;
  }
  // Kept open until the process ends: that is what the lock means.
  return true;
}

int StateFolder::running_pid() const {
  const int fd = open(file("server.lock").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  const bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
  close(fd);
  if (free) return 0;
  const auto text = read("server.pid");
  return text ? static_cast<int>(parse_int64(trim(*text)).value_or(0)) : 0;
}

}  // namespace yard
