#include "node/shim_socket.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace yard {
namespace {

// Held by the shim while it lives.
bool is_locked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

// Through the folder's descriptor: its path may be longer than a socket's address can be.
int connect_to(const std::string& folder, bool blocking) {
  const int directory = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/sock",
                   directory);
  const bool connected = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(directory);
  if (connected) return fd;
  close(fd);
  return -1;
}

}  // namespace

int connect_to_shim(const std::string& run_folder, bool blocking) {
  return is_locked(run_folder + "/lock") ? connect_to(run_folder, blocking) : -1;
}

}  // namespace yard
