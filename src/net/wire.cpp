#include "net/wire.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace yard {

namespace {

constexpr size_t kSendStep = 256 * 1024;

Error unreachable(std::string message) {
  return error(Reason::ServiceUnavailable, std::move(message));
}

// The cause tells those who may try again or elsewhere how far they came.
Error caused(const char* cause, std::string message) {
  Error failure = unreachable(std::move(message));
  failure.details.causes.push_back({cause, "", ""});
  return failure;
}

// False when the time is over.
bool wait_until(int fd, short events, const WireDeadline& deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - WireClock::now());
      if (left.count() <= 0) return false;
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 3'600'000));
    }
    pollfd waiting{fd, events, 0};
    int ready = ::poll(&waiting, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Error timed_out() {
  return error(Reason::Timeout, "the server did not answer in time");
}

}  // namespace

Wire::~Wire() {
  transport_.reset();
  ::close(fd_);
}

bool Wire::is_stale() const {
  char byte;
  const ssize_t got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

Result<void> Wire::send_output(const WireDeadline& deadline) {
  std::string_view rest = output_;
  while (!rest.empty()) {
    ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      rest.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_until(fd_, POLLOUT, deadline)) return timed_out();
    } else if (errno != EINTR) {
      return unreachable(
          fmt::format("the connection broke while sending: {}", std::strerror(errno)));
    }
  }
  output_.clear();
  return {};
}

Result<void> Wire::send(std::string_view bytes, const WireDeadline& deadline) {
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, kSendStep);
    transport_->write(part);
    TRY(send_output(deadline));
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<std::string_view> Wire::receive(const WireDeadline& deadline) {
  while (true) {
    Transport::Read read = transport_->read(input_);
    std::string reason = read.io == Io::Failed ? take_tls_error() : std::string();
    TRY(send_output(deadline));
    switch (read.io) {
      case Io::Done: return std::string_view(input_.data(), read.size);
      case Io::Eof: return std::string_view();
      case Io::Failed:
        return unreachable(fmt::format("the server closed the connection ({})", reason));
      case Io::Again:
        if (!wait_until(fd_, POLLIN, deadline)) return timed_out();
    }
  }
}

Result<void> Wire::speak_tls(SSL_CTX* context, const WirePeer& peer, const WireDeadline& deadline) {
  Ssl ssl(SSL_new(context));
  check(ssl != nullptr, "OpenSSL has memory for a connection");
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* verify = SSL_get0_param(ssl.get());
  // An address is checked against IP names; anything else is a DNS name, and is also said to the
  // server.
  if (X509_VERIFY_PARAM_set1_ip_asc(verify, peer.host.c_str()) != 1) {
    ERR_clear_error();
    X509_VERIFY_PARAM_set1_host(verify, peer.host.c_str(), 0);
    SSL_set_tlsext_host_name(ssl.get(), peer.host.c_str());
  }
  transport_.emplace(fd_, &output_, std::move(ssl));
  while (true) {
    Io outcome = transport_->handshake();
    long verified = SSL_get_verify_result(transport_->ssl());
    std::string reason = outcome == Io::Failed ? take_tls_error() : std::string();
    Result<void> sent = send_output(deadline);
    if (outcome == Io::Done) return sent;
    if (outcome == Io::Failed && verified != X509_V_OK) {
      return caused("Untrusted",
                    fmt::format("the server at {}:{} is not the one expected: {}", peer.host,
                                peer.port, X509_verify_cert_error_string(verified)));
    }
    if (outcome != Io::Again) {
      return caused(outcome == Io::Failed ? "Untrusted" : "Unreachable",
                    fmt::format("no TLS with {}:{}: {}", peer.host, peer.port,
                                reason.empty() ? "the connection was closed" : reason));
    }
    if (!sent) return sent;
    if (!wait_until(fd_, POLLIN, deadline)) return timed_out();
  }
}

namespace {

// Connects without blocking longer than the deadline; -1 with errno set.
int connect_socket(int family, const sockaddr* address, socklen_t size,
                   const WireDeadline& deadline) {
  int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int failure = ::connect(fd, address, size) == 0 ? 0 : errno;
  if (failure == EINPROGRESS) {
    failure = ETIMEDOUT;
    socklen_t length = sizeof failure;
    if (wait_until(fd, POLLOUT, deadline))
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length);
  }
  if (failure == 0) return fd;
  ::close(fd);
  errno = failure;
  return -1;
}

}  // namespace

Result<int> connect_unix(const std::string& path, const WireDeadline& deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return unreachable(fmt::format("cannot reach {}: the path is too long for a socket", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  int fd = connect_socket(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address, deadline);
  if (fd < 0) {
    return unreachable(fmt::format("cannot reach the server at {}: {}; is it running?", path,
                                   std::strerror(errno)));
  }
  return fd;
}

Result<int> connect_tcp(const std::string& host, int port, const WireDeadline& deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return caused("Unreachable",
                  fmt::format("cannot find the address of {}: {}", host, ::gai_strerror(failed)));
  }
  std::unique_ptr<addrinfo, OpensslFree<::freeaddrinfo>> addresses(found);
  int fd = -1;
  for (addrinfo* each = found; each && fd < 0; each = each->ai_next) {
    fd = connect_socket(each->ai_family, each->ai_addr, each->ai_addrlen, deadline);
  }
  if (fd < 0) {
    return caused("Unreachable", fmt::format("cannot reach the server at {}:{}: {}; is it running?",
                                             host, port, std::strerror(errno)));
  }
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

std::string authority(std::string_view host, int port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

}  // namespace yard
