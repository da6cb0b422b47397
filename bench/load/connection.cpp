#include "load/connection.h"

#include <algorithm>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/err.h>

#include "base/check.h"

namespace yard::bench {
namespace {

constexpr int kEventsATurn = 256;
constexpr size_t kReadSize = 64 << 10;

int connected_socket(const Target& target) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(target.port));
  if (inet_pton(AF_INET, target.host.c_str(), &address.sin_addr) != 1) return -1;
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  // Loopback: the connection is there at once, or refused at once.
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(made);
    return -1;
  }
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(made, F_SETFL, O_NONBLOCK);
  return made;
}

std::string last_tls_error() {
  const unsigned long code = ERR_get_error();
  return code == 0 ? fmt::format("connection lost ({})", strerror(errno))
                   : std::string(ERR_reason_error_string(code) ?: "TLS error");
}

}  // namespace

Engine::Engine() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  check(epoll_ >= 0, "epoll is there");
}

Engine::~Engine() {
  ::close(epoll_);
}

bool Engine::run_until(Clock::time_point deadline, const std::function<Clock::time_point()>& tick) {
  epoll_event events[kEventsATurn];
  Clock::time_point next = deadline;
  while (!stopped_) {
    if (tick) next = std::min(deadline, tick());
    if (stopped_) break;
    const auto now = Clock::now();
    if (now >= deadline) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    const int ready =
        epoll_wait(epoll_, events, kEventsATurn, static_cast<int>(std::max<long>(0, left)));
    for (int i = 0; i < ready; ++i)
      static_cast<Connection*>(events[i].data.ptr)->progress();
  }
  stopped_ = false;  // for the next run; a stop() before this one counted
  return true;
}

Connection::Connection(Engine& engine, const Target& target, Workload& workload, size_t id)
    : engine_(engine), target_(target), workload_(workload), id_(id) {
  on_body_ = [this](std::string_view piece) { workload_.body(*this, piece); };
}

Connection::~Connection() {
  if (socket_ >= 0) ::close(socket_);
}

void Connection::open() {
  step_ = Step::Handshake;
  socket_ = connected_socket(target_);
  if (socket_ < 0) return close(fmt::format("cannot connect: {}", strerror(errno)));
  ssl_.reset(SSL_new(target_.tls.get()));
  SSL_set_fd(ssl_.get(), socket_);
  SSL_set_connect_state(ssl_.get());
  epoll_event event{};
  event.events = wanted_ = EPOLLIN | EPOLLOUT;
  event.data.ptr = this;
  epoll_ctl(engine_.epoll(), EPOLL_CTL_ADD, socket_, &event);
}

void Connection::send(std::string_view request) {
  out_.append(request);
  flush();
}

void Connection::progress() {
  if (step_ == Step::Handshake) shake_hands();
  if (step_ == Step::Open && !out_.empty()) flush();
  if (step_ == Step::Open) read();
}

void Connection::close(const std::string& why) {
  if (step_ == Step::Closed) return;
  step_ = Step::Closed;
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  workload_.closed(*this, why);
}

void Connection::shake_hands() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done == 1) {
    step_ = Step::Open;
    want(EPOLLIN);
    workload_.opened(*this);
    return;
  }
  switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_WANT_READ: want(EPOLLIN); break;
    case SSL_ERROR_WANT_WRITE: want(EPOLLIN | EPOLLOUT); break;
    default: close("handshake: " + last_tls_error());
  }
}

void Connection::flush() {
  while (!out_.empty() && step_ == Step::Open) {
    ERR_clear_error();
    const int written = SSL_write(ssl_.get(), out_.data(), static_cast<int>(out_.size()));
    if (written > 0) {
      out_.erase(0, static_cast<size_t>(written));
      continue;
    }
    const int reason = SSL_get_error(ssl_.get(), written);
    if (reason == SSL_ERROR_WANT_WRITE || reason == SSL_ERROR_WANT_READ) {
      return want(EPOLLIN | EPOLLOUT);
    }
    return close("write: " + last_tls_error());
  }
  if (step_ == Step::Open) want(EPOLLIN);
}

void Connection::read() {
  static char buffer[kReadSize];
  while (step_ == Step::Open) {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), buffer, sizeof buffer);
    if (got > 0) {
      take(std::string_view(buffer, static_cast<size_t>(got)));
      // What comes later is announced again: asking for it now would mostly find nothing.
      if (step_ == Step::Open && SSL_has_pending(ssl_.get()) == 0) return;
      continue;
    }
    switch (SSL_get_error(ssl_.get(), got)) {
      case SSL_ERROR_WANT_READ: return;
      case SSL_ERROR_WANT_WRITE: return want(EPOLLIN | EPOLLOUT);
      case SSL_ERROR_ZERO_RETURN: return close("the server closed the connection");
      default: return close("read: " + last_tls_error());
    }
  }
}

void Connection::take(std::string_view bytes) {
  while (!bytes.empty() && step_ == Step::Open) {
    bytes.remove_prefix(answer_.feed(bytes, on_body_));
    if (answer_.is_bad()) return close("the answer is not HTTP/1.1");
    if (!answer_.is_done()) return;
    const int status = answer_.status();
    answer_.begin_next();
    workload_.answered(*this, status);
  }
}

void Connection::want(unsigned events) {
  if (events == wanted_ || socket_ < 0) return;
  wanted_ = events;
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  epoll_ctl(engine_.epoll(), EPOLL_CTL_MOD, socket_, &event);
}

}  // namespace yard::bench
