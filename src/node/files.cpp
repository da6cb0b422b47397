#include "node/files.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

namespace yard {

Error system_error(const std::string& what) {
  return error(Reason::InternalError, what + ": " + std::strerror(errno));
}

Result<void> make_folders(const std::string& path, int mode) {
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0 || errno == EEXIST) return {};
  const size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0)
    return system_error("cannot make the folder " + path);
  TRY(make_folders(path.substr(0, slash), mode));
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0 || errno == EEXIST) return {};
  return system_error("cannot make the folder " + path);
}

Result<void> write_text(const std::string& path, std::string_view text, int mode, bool synced) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, static_cast<mode_t>(mode));
  if (fd < 0) return system_error("cannot write " + path);
  bool ok = fchmod(fd, static_cast<mode_t>(mode)) == 0;
  while (ok && !text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    ok = count > 0;
    if (ok) text.remove_prefix(static_cast<size_t>(count));
  }
  if (ok && synced) ok = fsync(fd) == 0;
  const Error problem = system_error("cannot write " + path);
  close(fd);
  if (!ok) return problem;
  return {};
}

namespace {

std::string read_all(int fd, size_t limit) {
  std::string text;
  char buffer[16384];
  while (text.size() < limit) {
    const ssize_t count = read(fd, buffer, std::min(sizeof buffer, limit - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  return text;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  return read_all(fd, limit);
}

std::optional<std::string> read_tail(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  const off_t size = lseek(fd, 0, SEEK_END);
  lseek(fd, std::max<off_t>(0, size - static_cast<off_t>(limit)), SEEK_SET);
  return read_all(fd, limit);
}

void spread_subfolders(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_TOPDIR_FL) == 0) {
    flags |= FS_TOPDIR_FL;
    if (ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0)
      log_debug("folders below {} stay together: {}", folder, std::strerror(errno));
  }
  close(fd);
}

Result<void> make_folder_beside(const std::string& neighbour, const std::string& path, int mode) {
  const std::string made = neighbour + "/.new";
  if (mkdir(made.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST)
    return system_error("cannot make the folder " + made);
  if (rename(made.c_str(), path.c_str()) == 0) return {};
  rmdir(made.c_str());
  return make_folders(path, mode);
}

namespace {

constexpr int kMostDepth = 32;
constexpr ssize_t kEntriesSize = 4096, kMostEntry = 280;

// A third of the calls that the library needs, for the few dozen small things of a pod. False where
// anything is unusual: deep, closed, busy.
bool remove_entries(int folder, int depth) {
  alignas(dirent64) char entries[kEntriesSize];
  ssize_t size = 0;
  while ((size = getdents64(folder, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type != DT_DIR && unlinkat(folder, entry->d_name, 0) == 0) continue;
      const int below =
          openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      const bool emptied = below >= 0 && depth < kMostDepth && remove_entries(below, depth + 1);
      if (below >= 0) close(below);
      if (!emptied || unlinkat(folder, entry->d_name, AT_REMOVEDIR) != 0) return false;
    }
    // There would have been room for one more. Should it not be so, the folder cannot be removed.
    if (size <= kEntriesSize - kMostEntry) return true;
  }
  return size == 0;
}

bool remove_below(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const bool emptied = remove_entries(fd, 0);
  close(fd);
  return emptied;
}

void open_folders_below(const std::string& path) {
  struct stat facts;
  if (lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return;
  chmod(path.c_str(), 0700);
  std::error_code code;
  for (std::filesystem::directory_iterator at(path, code), end; !code && at != end;
       at.increment(code))
    open_folders_below(at->path().string());
}

}  // namespace

void remove_folder(const std::string& path) {
  if (remove_below(path) && rmdir(path.c_str()) == 0) return;
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) {
    // What a container closed to itself is closed to us too when we are not root: opened, then
    // again.
    open_folders_below(path);
    code.clear();
    std::filesystem::remove_all(path, code);
  }
  if (code) log_warning("cannot remove {}: {}", path, code.message());
}

}  // namespace yard
