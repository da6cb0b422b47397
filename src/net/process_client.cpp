#include "net/process_client.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/descriptor.h"
#include "base/strings.h"
#include "net/tls.h"
#include "net/websocket.h"

namespace yard {
namespace {

constexpr size_t kMostHead = 64 * 1024, kReadSize = 32 * 1024;
enum Channel { kInput = 0, kOutput = 1, kErrors = 2, kStatus = 3, kSize = 4, kEnd = 0xff };

Error failure(const char* what) {
  return error(Reason::ServiceUnavailable, fmt::format("{}: {}", what, std::strerror(errno)));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

Result<Descriptor> connect_to_path(const std::string& path) {
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return error(Reason::ServiceUnavailable, "the path of the server's socket is too long");
  path.copy(address.sun_path, path.size());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return failure("cannot reach the control plane");
  return fd;
}

Result<Descriptor> connect_to_address(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      code != 0)
    return error(Reason::ServiceUnavailable,
                 fmt::format("cannot find {}: {}", host, gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Descriptor fd(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0) return fd;
  }
  return failure("cannot reach the control plane");
}

// A blocking connection, encrypted where the server is not reached by its own socket.
class Line {
 public:
  Result<void> open(const ClientTarget& server) {
    fd_ = TRY(server.unix_path.empty() ? connect_to_address(server.host, server.port)
                                       : connect_to_path(server.unix_path));
    if (!server.unix_path.empty()) return {};
    context_ = TRY(make_client_context(server));
    ssl_.reset(SSL_new(context_.get()));
    X509_VERIFY_PARAM* verify = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(verify, server.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(verify, server.host.c_str(), server.host.size());
      SSL_set_tlsext_host_name(ssl_.get(), server.host.c_str());
    }
    if (SSL_set_fd(ssl_.get(), fd_.get()) != 1 || SSL_connect(ssl_.get()) != 1)
      return error(Reason::ServiceUnavailable,
                   "cannot speak to the control plane: " + take_tls_error());
    return {};
  }
  // As read(2) does; -1 with EINTR is no end.
  ssize_t read(char* buffer, size_t size) {
    if (!ssl_) return ::read(fd_.get(), buffer, size);
    errno = 0;
    const int count = SSL_read(ssl_.get(), buffer, static_cast<int>(size));
    if (count > 0) return count;
    return SSL_get_error(ssl_.get(), count) == SSL_ERROR_SYSCALL && errno == EINTR ? -1 : 0;
  }
  bool write(std::string_view bytes) {
    if (!ssl_) return write_all(fd_.get(), bytes);
    return bytes.empty() || SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  bool has_buffered() const { return ssl_ && SSL_pending(ssl_.get()) > 0; }
  int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
  SslContext context_;
  Ssl ssl_;
};

// New sizes of the terminal, as something that can be waited for.
class SizeSignals {
 public:
  SizeSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    fd_.reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SizeSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  int fd() const { return fd_.get(); }
  void take() {
    signalfd_siginfo ignored;
    while (::read(fd_.get(), &ignored, sizeof ignored) > 0) {
    }
  }

 private:
  Descriptor fd_;
  sigset_t before_{};
};

class RemoteSession {
 public:
  explicit RemoteSession(const RemoteProcess& process) : process_(process), input_(process.input) {}

  Result<RemoteProcessEnd> run() {
    TRY(line_.open(process_.server));
    std::string rest;
    auto refused = shake_hands(rest);
    if (!refused || refused->http_status != 101) return refused;
    if (process_.terminal) send_size();
    if (!take(rest)) return end_;
    return move_bytes();
  }

 private:
  Result<RemoteProcessEnd> shake_hands(std::string& rest) {
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dHJhaW55YXJkLXRyYWlueQ==\r\n"
        "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n{}\r\n",
        process_.target,
        process_.server.bearer_token.empty()
            ? std::string()
            : fmt::format("Authorization: Bearer {}\r\n", process_.server.bearer_token));
    if (!line_.write(request)) return failure("cannot ask the control plane");
    std::string head;
    char buffer[4096];
    size_t end = std::string::npos;
    while (end == std::string::npos) {
      const ssize_t count = line_.read(buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0 || head.size() > kMostHead)
        return error(Reason::ServiceUnavailable, "the control plane gave no answer");
      head.append(buffer, static_cast<size_t>(count));
      end = head.find("\r\n\r\n");
    }
    rest = head.substr(end + 4);
    const int status = head.size() > 12 ? std::atoi(head.c_str() + 9) : 0;
    if (status == 101) return RemoteProcessEnd{};
    // The body is short and the server's socket near: what it has sent is the answer.
    if (!process_.server.unix_path.empty()) shutdown(line_.fd(), SHUT_WR);
    for (ssize_t count = 0;
         rest.find('}') == std::string::npos && (count = line_.read(buffer, sizeof buffer)) > 0;)
      rest.append(buffer, static_cast<size_t>(count));
    return RemoteProcessEnd{status, rest};
  }

  Result<RemoteProcessEnd> move_bytes() {
    char buffer[kReadSize];
    while (true) {
      pollfd waiting[] = {{line_.fd(), POLLIN, 0}, {input_, POLLIN, 0}, {sizes_.fd(), POLLIN, 0}};
      const bool has_more = line_.has_buffered();
      if (poll(waiting, 3, has_more ? 0 : -1) < 0 && errno != EINTR)
        return failure("cannot wait for the process");
      if (waiting[0].revents != 0 || has_more) {
        const ssize_t count = line_.read(buffer, sizeof buffer);
        if (count == 0 || (count < 0 && errno != EINTR)) return end_;
        if (count > 0 && !take(std::string_view(buffer, static_cast<size_t>(count)))) return end_;
      }
      if (waiting[1].revents != 0) {
        const ssize_t count = ::read(input_, buffer, sizeof buffer);
        if (count > 0) {
          say(kInput, std::string_view(buffer, static_cast<size_t>(count)));
        } else if (count == 0 || errno != EINTR) {
          say(kEnd, std::string_view("\0", 1));
          input_ = -1;
        }
      }
      if (waiting[2].revents != 0) {
        sizes_.take();
        if (process_.terminal) send_size();
      }
    }
  }

  // False when the session is over.
  bool take(std::string_view bytes) {
    while (auto event = reader_.next(bytes)) {
      switch (event->type) {
        case WebSocketEvent::Type::Data: {
          std::string_view piece = event->bytes;
          if (event->starts_message) channel_ = -1;
          if (channel_ < 0 && !piece.empty()) {
            channel_ = static_cast<unsigned char>(piece.front());
            piece.remove_prefix(1);
          }
          if (channel_ == kOutput) write_all(process_.output, piece);
          if (channel_ == kErrors) write_all(process_.errors, piece);
          if (channel_ == kStatus) end_.text.append(piece);
          break;
        }
        case WebSocketEvent::Type::Ping: frame(WebSocketOpcode::Pong, {}, event->bytes); break;
        case WebSocketEvent::Type::Pong: break;
        case WebSocketEvent::Type::Close:
          frame(WebSocketOpcode::Close, {}, event->bytes);
          return false;
        case WebSocketEvent::Type::Broken: return false;
      }
    }
    return true;
  }
  void say(int channel, std::string_view bytes) {
    const char first = static_cast<char>(channel);
    frame(WebSocketOpcode::Binary, std::string_view(&first, 1), bytes);
  }
  void frame(WebSocketOpcode opcode, std::string_view first, std::string_view rest) {
    uint32_t mask = 0;
    RAND_bytes(reinterpret_cast<unsigned char*>(&mask), sizeof mask);
    line_.write(websocket_frame(opcode, first, rest, mask));
  }
  void send_size() {
    winsize size{};
    if (ioctl(process_.output, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
    say(kSize, fmt::format(R"({{"Width":{},"Height":{}}})", size.ws_col, size.ws_row));
  }

  const RemoteProcess& process_;
  Line line_;
  SizeSignals sizes_;
  WebSocketReader reader_{WebSocketReader::Side::Client};
  RemoteProcessEnd end_;
  int input_;
  int channel_ = -1;
};

}  // namespace

Result<RemoteProcessEnd> run_remote_process(const RemoteProcess& process) {
  return RemoteSession(process).run();
}

}  // namespace yard
