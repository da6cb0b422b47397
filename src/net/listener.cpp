#include "net/listener.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"

namespace yard {

namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 64;
// Out of descriptors: the queue stays readable, so waiting on it would spin.
constexpr auto kPauseWithoutDescriptors = std::chrono::milliseconds(100);

std::string failure_text() {
  return std::strerror(errno);
}

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<TcpAddress> tcp_address(const std::string& address, int port) {
  TcpAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (port < 0 || port > 65535)
    return error(Reason::BadRequest, fmt::format("{} is not a port", port));
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    result.size = sizeof *v4;
    return result;
  }
  if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    result.size = sizeof *v6;
    return result;
  }
  return error(Reason::BadRequest,
               fmt::format("cannot listen on {:?}: give an IP address such as 127.0.0.1", address));
}

Error bind_error(const std::string& address, int port) {
  if (errno == EADDRINUSE) {
    return error(
        Reason::ServiceUnavailable,
        fmt::format("cannot listen on {}:{}: another program uses this port; stop it, or choose "
                    "another port with --port",
                    address, port));
  }
  if (errno == EADDRNOTAVAIL) {
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot listen on {}:{}: this machine does not have that address",
                             address, port));
  }
  if (errno == EACCES) {
    return error(
        Reason::ServiceUnavailable,
        fmt::format(
            "cannot listen on {}:{}: ports below 1024 need root; choose another with --port",
            address, port));
  }
  return error(Reason::ServiceUnavailable,
               fmt::format("cannot listen on {}:{}: {}", address, port, failure_text()));
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return error(
        Reason::BadRequest,
        fmt::format(
            "cannot listen on {:?}: a socket's path has 1 to {} bytes; choose a shorter folder",
            path, sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A socket left by a server that died is removed; one that answers, or any other file, is not ours
// to remove.
Result<void> remove_stale_socket(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot listen on {}: a file that is no socket is there", path));
  }
  int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool answers =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN;
  ::close(probe);
  if (answers) {
    return error(
        Reason::ServiceUnavailable,
        fmt::format("cannot listen on {}: another server answers there; stop it first", path));
  }
  ::unlink(path.c_str());
  return {};
}

Error close_and_report(int fd, const std::string& path) {
  Error failure = error(Reason::ServiceUnavailable,
                        fmt::format("cannot listen on {}: {}", path, failure_text()));
  ::close(fd);
  return failure;
}

}  // namespace

Result<int> open_tcp_listener(const std::string& address, int port) {
  TcpAddress target = TRY(tcp_address(address, port));
  int fd = ::socket(target.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return bind_error(address, port);
  int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&target.storage), target.size) != 0 ||
      ::listen(fd, kBacklog) != 0) {
    Error failure = bind_error(address, port);
    ::close(fd);
    return failure;
  }
  return fd;
}

Result<int> open_unix_listener(const std::string& path) {
  sockaddr_un address = TRY(unix_address(path));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot make the folder {} for the socket: {}", folder.string(),
                             failure_text()));
  }
  TRY(remove_stale_socket(path, address));
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return close_and_report(fd, path);
  }
  // Nobody can connect before listen, so there is no moment with wider rights.
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(fd, kBacklog) != 0)
    return close_and_report(fd, path);
  return fd;
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

Listener::Listener(std::shared_ptr<IoThread> io, int fd, std::function<void(int)> accepted)
    : io_(std::move(io)),
      socket_(io_->context(), fd),
      pause_(io_->context()),
      accepted_(std::move(accepted)) {}

void Listener::start() {
  wait();
}

void Listener::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
}

void Listener::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& code) {
                       if (!code && self->socket_.is_open()) self->accept_all();
                     });
}

void Listener::accept_all() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    int fd = ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accepted_(fd);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    log_warning("cannot accept a connection: {}", failure_text());
    pause_.expires_after(kPauseWithoutDescriptors);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& code) {
      if (!code && self->socket_.is_open()) self->wait();
    });
    return;
  }
  wait();
}

}  // namespace yard
