#include "net/client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/strings.h"
#include "net/outgoing.h"
#include "net/response_parser.h"
#include "net/tls.h"

namespace yard {

std::string_view ClientResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignore_case(key, name)) return value;
  }
  return {};
}

namespace {

using SteadyClock = std::chrono::steady_clock;
using Deadline = std::optional<SteadyClock::time_point>;  // none: wait for ever

constexpr size_t kSendStep = 256 * 1024;

Error unreachable(std::string message) {
  return error(Reason::ServiceUnavailable, std::move(message));
}

// False when the time is over.
bool wait_until(int fd, short events, const Deadline& deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - SteadyClock::now());
      if (left.count() <= 0) return false;
      timeout_ms = static_cast<int>(std::min<int64_t>(left.count(), 3'600'000));
    }
    pollfd waiting{fd, events, 0};
    int ready = ::poll(&waiting, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// One open connection: a socket and what speaks over it.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() {
    transport_.reset();
    ::close(fd_);
  }
  Wire(const Wire&) = delete;

  void speak_plain() { transport_.emplace(fd_, &output_); }
  Result<void> speak_tls(SSL_CTX* context, const ClientTarget& target, const Deadline& deadline);
  Result<void> send(std::string_view bytes, const Deadline& deadline);
  // Empty at the end of the connection.
  Result<std::string_view> receive(const Deadline& deadline);

 private:
  Result<void> send_output(const Deadline& deadline);

  int fd_;
  std::string output_;
  std::optional<Transport> transport_;
  std::array<char, 64 * 1024> input_;
};

Error timed_out() {
  return error(Reason::Timeout, "the server did not answer in time");
}

Result<void> Wire::send_output(const Deadline& deadline) {
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

Result<void> Wire::send(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, kSendStep);
    transport_->write(part);
    TRY(send_output(deadline));
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<std::string_view> Wire::receive(const Deadline& deadline) {
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

Result<void> Wire::speak_tls(SSL_CTX* context, const ClientTarget& target,
                             const Deadline& deadline) {
  Ssl ssl(SSL_new(context));
  check(ssl != nullptr, "OpenSSL has memory for a connection");
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* verify = SSL_get0_param(ssl.get());
  // An address is checked against IP names; anything else is a DNS name, and is also said to the
  // server.
  if (X509_VERIFY_PARAM_set1_ip_asc(verify, target.host.c_str()) != 1) {
    ERR_clear_error();
    X509_VERIFY_PARAM_set1_host(verify, target.host.c_str(), 0);
    SSL_set_tlsext_host_name(ssl.get(), target.host.c_str());
  }
  transport_.emplace(fd_, &output_, std::move(ssl));
  while (true) {
    Io outcome = transport_->handshake();
    long verified = SSL_get_verify_result(transport_->ssl());
    std::string reason = outcome == Io::Failed ? take_tls_error() : std::string();
    Result<void> sent = send_output(deadline);
    if (outcome == Io::Done) return sent;
    if (outcome == Io::Failed && verified != X509_V_OK) {
      return unreachable(fmt::format("the server at {}:{} is not the one expected: {}", target.host,
                                     target.port, X509_verify_cert_error_string(verified)));
    }
    if (outcome != Io::Again) {
      return unreachable(fmt::format("no TLS with {}:{}: {}", target.host, target.port,
                                     reason.empty() ? "the connection was closed" : reason));
    }
    if (!sent) return sent;
    if (!wait_until(fd_, POLLIN, deadline)) return timed_out();
  }
}

// Connects without blocking longer than the deadline; -1 with errno set.
int connect_socket(int family, const sockaddr* address, socklen_t size, const Deadline& deadline) {
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

Result<int> connect_unix(const std::string& path, const Deadline& deadline) {
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

Result<int> connect_tcp(const std::string& host, int port, const Deadline& deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return unreachable(
        fmt::format("cannot find the address of {}: {}", host, ::gai_strerror(failed)));
  }
  std::unique_ptr<addrinfo, OpensslFree<::freeaddrinfo>> addresses(found);
  int fd = -1;
  for (addrinfo* each = found; each && fd < 0; each = each->ai_next) {
    fd = connect_socket(each->ai_family, each->ai_addr, each->ai_addrlen, deadline);
  }
  if (fd < 0) {
    return unreachable(fmt::format("cannot reach the server at {}:{}: {}; is it running?", host,
                                   port, std::strerror(errno)));
  }
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class BlockingClient : public HttpClient {
 public:
  BlockingClient(ClientTarget target, Duration timeout)
      : target_(std::move(target)), timeout_(timeout) {}

  Result<ClientResponse> call(const std::string& method, const std::string& path, Headers headers,
                              std::string body) override {
    std::string collected;
    ClientResponse response =
        TRY(exchange(method, path, headers, body, false, [&](std::string_view bytes) {
          collected.append(bytes);
          return true;
        }));
    response.body = std::move(collected);
    return response;
  }

  Result<ClientResponse> stream(const std::string& path, Headers headers,
                                std::function<bool(std::string_view)> chunk) override {
    return exchange("GET", path, headers, {}, true, std::move(chunk));
  }

 private:
  Result<ClientResponse> exchange(const std::string& method, const std::string& path,
                                  const Headers& headers, const std::string& body, bool is_stream,
                                  std::function<bool(std::string_view)> sink) {
    Deadline deadline = SteadyClock::now() + timeout_;
    std::string request = request_bytes(method, path, headers, body);
    bool kept = wire_ != nullptr;
    if (!kept) TRY(open(deadline));
    while (true) {
      ResponseParser parser(method == "HEAD", sink);
      bool answered = false;
      Result<void> done = converse(request, is_stream, deadline, parser, answered);
      if (done) {
        ClientResponse response = parser.take_response();
        if (!parser.is_whole() || !parser.wants_keep_alive()) wire_.reset();
        return response;
      }
      wire_.reset();
      // A kept connection may have been closed by the server while we were silent: once more, on a
      // new one.
      if (!kept || answered || done.error().reason == Reason::Timeout)
        return std::move(done).error();
      kept = false;
      TRY(open(deadline));
    }
  }

  Result<void> converse(const std::string& request, bool is_stream, Deadline deadline,
                        ResponseParser& parser, bool& answered) {
    // A server that refuses may answer and close while we still send: what it said counts, not the
    // broken send.
    Result<void> sent = wire_->send(request, deadline);
    if (!sent && sent.error().reason == Reason::Timeout) return sent;
    while (true) {
      if (is_stream && parser.has_head()) deadline.reset();
      Result<std::string_view> received = wire_->receive(deadline);
      if (!received) return sent ? Result<void>(std::move(received).error()) : sent;
      if (received->empty()) return parser.finish();
      answered = true;
      bool more = TRY(parser.feed(*received));
      if (!more) return {};
    }
  }

  Result<void> open(const Deadline& deadline) {
    if (!target_.unix_path.empty()) {
      int fd = TRY(connect_unix(target_.unix_path, deadline));
      wire_ = std::make_unique<Wire>(fd);
      wire_->speak_plain();
      return {};
    }
    if (!context_) context_ = TRY(make_client_context(target_));
    int fd = TRY(connect_tcp(target_.host, target_.port, deadline));
    wire_ = std::make_unique<Wire>(fd);
    Result<void> secured = wire_->speak_tls(context_.get(), target_, deadline);
    if (!secured) wire_.reset();
    return secured;
  }

  std::string request_bytes(const std::string& method, const std::string& path,
                            const Headers& headers, const std::string& body) const {
    std::string text;
    text.reserve(512 + body.size());
    bool is_v6 = target_.host.find(':') != std::string::npos;
    std::string host = target_.unix_path.empty()
                           ? fmt::format("{}{}{}:{}", is_v6 ? "[" : "", target_.host,
                                         is_v6 ? "]" : "", target_.port)
                           : "localhost";
    fmt::format_to(std::back_inserter(text), "{} {} HTTP/1.1\r\n", method, path);
    append_header(text, "Host", host);
    if (!target_.bearer_token.empty())
      append_header(text, "Authorization", "Bearer " + target_.bearer_token);
    for (const auto& [name, value] : headers) {
      append_header(text, name, value);
    }
    bool may_have_body = method != "GET" && method != "HEAD";
    if (may_have_body || !body.empty())
      append_header(text, "Content-Length", std::to_string(body.size()));
    text += "\r\n";
    text += body;
    return text;
  }

  ClientTarget target_;
  Duration timeout_;
  SslContext context_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace

std::unique_ptr<HttpClient> make_http_client(ClientTarget target, Duration timeout) {
  return std::make_unique<BlockingClient>(std::move(target), timeout);
}

}  // namespace yard
