#include "node/network/keeper_channel.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/passed_descriptors.h"

namespace yard {
namespace {

constexpr size_t kMostFrame = 1 << 20, kReadSize = 64 << 10;
constexpr int kMostDescriptors = 4;

union ControlSpace {
  char bytes[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  cmsghdr aligned;
};

ssize_t send_with_descriptors(int fd, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlSpace control{};
  if (!descriptors.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void close_all(std::vector<int>& descriptors) {
  for (const int fd : descriptors)
    close(fd);
  descriptors.clear();
}

}  // namespace

KeeperChannel::KeeperChannel(int fd) : fd_(fd) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

KeeperChannel::~KeeperChannel() {
  for (Unsent& unsent : unsent_)
    close_all(unsent.descriptors);
  for (const int fd : descriptors_)
    close(fd);
  close(fd_);
}

void KeeperChannel::send(std::string_view text, std::vector<int> descriptors) {
  const uint32_t length = static_cast<uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  unsent_.push_back({std::move(bytes), std::move(descriptors)});
  flush();
}

bool KeeperChannel::flush() {
  while (!broken_ && !unsent_.empty()) {
    Unsent& next = unsent_.front();
    const ssize_t sent = send_with_descriptors(fd_, next.bytes, next.descriptors);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return true;
    if (sent < 0) {
      broken_ = true;
      break;
    }
    close_all(next.descriptors);  // they travel with the first byte
    next.bytes.erase(0, static_cast<size_t>(sent));
    if (next.bytes.empty()) unsent_.pop_front();
  }
  return !broken_;
}

bool KeeperChannel::receive(const std::function<void(std::string_view)>& on_frame) {
  // Of the thread: to clear 64 kB anew for each of a pod's messages took longer than the message.
  static thread_local char buffer[kReadSize];
  bool open = true;
  for (;;) {
    iovec part{buffer, sizeof buffer};
    ControlSpace control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t size = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      open = false;
      break;
    }
    std::vector<int> came;
    if (!take_passed_descriptors(message, came)) {
      broken_ = true;  // the frames that follow would take each other's
      break;
    }
    descriptors_.insert(descriptors_.end(), came.begin(), came.end());
    received_.append(buffer, static_cast<size_t>(size));
  }
  size_t at = 0;
  while (received_.size() - at >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, received_.data() + at, sizeof length);
    if (length > kMostFrame) return false;
    if (received_.size() - at - sizeof length < length) break;
    on_frame(std::string_view(received_).substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  received_.erase(0, at);
  return open && !broken_;
}

std::optional<int> KeeperChannel::take_descriptor() {
  if (descriptors_.empty()) return std::nullopt;
  const int fd = descriptors_.front();
  descriptors_.pop_front();
  return fd;
}

}  // namespace yard
