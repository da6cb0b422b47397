#include "node/shim_socket.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "node/files.h"
#include "node/passed_descriptors.h"

namespace yard {
namespace {

constexpr size_t kMostDescriptors = 8, kMostMessage = 8192;

// Held by the shim while it lives.
bool is_locked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

}  // namespace

int connect_to_socket_in(const std::string& folder, int type) {
  const int directory = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
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

int connect_to_shim(const std::string& run_folder, bool blocking) {
  // A shim of an earlier version holds a file of its own.
  return is_locked(run_folder + "/journal") || is_locked(run_folder + "/lock")
             ? connect_to_socket_in(run_folder, SOCK_SEQPACKET | (blocking ? 0 : SOCK_NONBLOCK))
             : -1;
}

Result<void> send_to_shim(int socket, const std::string& text,
                          const std::vector<int>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  check(descriptors.size() <= kMostDescriptors, "a message to a shim carries few descriptors");
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size() * sizeof(int));
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    return system_error("cannot reach the pod's shim");
  return {};
}

std::optional<ShimMessage> receive_from_shim(int socket) {
  char text[kMostMessage];
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  iovec bytes{text, sizeof text};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  ShimMessage out;
  if (count <= 0) return out;
  out.text.assign(text, static_cast<size_t>(count));
  std::vector<int> came;
  take_passed_descriptors(message, came);
  for (const int fd : came)
    out.descriptor.reset(fd);  // there is never a second one
  return out;
}

}  // namespace yard
