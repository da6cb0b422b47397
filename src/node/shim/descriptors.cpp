#include "node/shim/descriptors.h"

#include <string.h>
#include <sys/socket.h>

#include "node/passed_descriptors.h"

namespace shim {
namespace {

constexpr size_t kMostDescriptors = 8;

}  // namespace

ssize_t receive_message(int socket, char* buffer, size_t size, std::vector<int>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  iovec bytes{buffer, size};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  yard::take_passed_descriptors(message, descriptors);
  return count;
}

bool send_message(int socket, const std::string& text, int descriptor) {
  return send_message(socket, text,
                      descriptor >= 0 ? std::vector<int>{descriptor} : std::vector<int>{});
}

bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!descriptors.empty() && descriptors.size() <= kMostDescriptors) {
    const size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace shim
