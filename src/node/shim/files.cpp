#include "node/shim/files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shim {

bool read_whole(const char* path, std::string& out) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[16384];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
    if (count > 0) out.append(buffer, static_cast<size_t>(count));
  }
  const int problem = errno;
  close(fd);
  errno = problem;
  return count == 0;
}

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write_all(fd, text.data(), text.size());
  const int problem = errno;
  close(fd);
  errno = problem;
  return ok;
}

bool make_folders(const std::string& path, unsigned mode) {
  if (path.empty() || mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !make_folders(parent_of(path), 0755)) return false;
  return mkdir(path.c_str(), mode) == 0 || errno == EEXIST;
}

bool touch(const std::string& path) {
  if (exists(path.c_str())) return true;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  close(fd);
  return true;
}

bool exists(const char* path) {
  struct stat facts;
  return stat(path, &facts) == 0;
}

bool is_folder(const char* path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace shim
