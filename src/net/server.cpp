#include "net/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "net/connection.h"
#include "net/io_thread.h"
#include "net/listener.h"
#include "net/tls.h"

namespace yard {

namespace {

std::string address_of_peer(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family == AF_INET6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    return fmt::format("[{}]:{}", text, ntohs(v6->sin6_port));
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  return fmt::format("{}:{}", text, ntohs(v4->sin_port));
}

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

// Answers leave at once, and the kernel finds out about watchers that vanished without a word.
void prepare_tcp(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

bool is_owner_or_root(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return false;
  return who.uid == ::geteuid() || who.uid == 0;
}

// An accepted socket on its way to its thread: closed should it never arrive.
struct Arriving {
  Arriving(int socket, Ssl its_ssl, Peer its_peer)
      : fd(socket), ssl(std::move(its_ssl)), peer(std::move(its_peer)) {}
  ~Arriving() {
    if (fd >= 0) ::close(fd);
  }
  Arriving(const Arriving&) = delete;
  int take() { return std::exchange(fd, -1); }
  int fd;
  Ssl ssl;
  Peer peer;
};

// What all threads together may hold is shared out among them.
ServerLimits limits_of_one(ServerLimits limits, size_t threads) {
  limits.max_receiving /= threads;
  return limits;
}

class AsioHttpServer : public HttpServer {
 public:
  AsioHttpServer(HttpHandler handler, const ServerLimits& limits, int io_threads)
      : limits_(limits), counters_(std::make_shared<ServerCounters>()) {
    const size_t count = static_cast<size_t>(std::max(1, io_threads));
    for (size_t i = 0; i < count; ++i) {
      threads_.push_back(
          std::make_shared<IoThread>(handler, limits_of_one(limits, count), counters_));
    }
  }
  ~AsioHttpServer() override { stop(); }

  Result<int> listen_tls(const std::string& address, int port, const TlsFiles& tls) override {
    check(!started_, "a server listens before it starts");
    std::shared_ptr<SSL_CTX> context = TRY(make_server_context(tls));
    int fd = TRY(open_tcp_listener(address, port));
    add_listener(fd, [this, context](int socket) { admit_tls(socket, context.get()); });
    return port_of(fd);
  }

  Result<void> listen_tls_on(int listener, const TlsFiles& tls) override {
    check(!started_, "a server listens before it starts");
    std::shared_ptr<SSL_CTX> context = TRY(make_server_context(tls));
    add_listener(listener, [this, context](int socket) { admit_tls(socket, context.get()); });
    return {};
  }

  Result<void> listen_unix(const std::string& path) override {
    check(!started_, "a server listens before it starts");
    int fd = TRY(open_unix_listener(path));
    unix_paths_.push_back(path);
    add_listener(fd, [this](int socket) { admit_unix(socket); });
    return {};
  }

  void start() override {
    check(!started_, "a server starts once");
    started_ = true;
    for (const auto& listener : listeners_) {
      listener->start();
    }
    for (const auto& thread : threads_) {
      thread->start();
    }
  }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    for (const std::string& path : unix_paths_) {
      ::unlink(path.c_str());
    }
    if (started_) {
      for (const auto& thread : threads_) {
        thread->begin_stop();
      }
    }
    for (const auto& thread : threads_) {
      thread->join();
    }
    listeners_.clear();
  }

  Statistics statistics() const override {
    auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
    return {read(counters_->connections), read(counters_->streams),  read(counters_->accepted),
            read(counters_->refused),     read(counters_->bytes_in), read(counters_->bytes_out)};
  }

 private:
  void add_listener(int fd, std::function<void(int)> accepted) {
    auto listener = std::make_shared<Listener>(threads_[0], fd, std::move(accepted));
    threads_[0]->on_stop([listener] { listener->close(); });
    listeners_.push_back(std::move(listener));
  }

  void admit_tls(int socket, SSL_CTX* context) {
    prepare_tcp(socket);
    Peer peer;
    peer.address = address_of_peer(socket);
    Ssl ssl(SSL_new(context));
    check(ssl != nullptr, "OpenSSL has memory for a connection");
    SSL_set_accept_state(ssl.get());
    admit(socket, std::move(ssl), std::move(peer));
  }

  void admit_unix(int socket) {
    if (!is_owner_or_root(socket)) {
      counters_->refused.fetch_add(1, std::memory_order_relaxed);
      ::close(socket);
      return;
    }
    Peer peer;
    peer.local_owner = true;
    peer.address = "unix";
    admit(socket, nullptr, std::move(peer));
  }

  void admit(int socket, Ssl ssl, Peer peer) {
    counters_->accepted.fetch_add(1, std::memory_order_relaxed);
    if (is_full()) counters_->refused.fetch_add(1, std::memory_order_relaxed);
    auto arriving = std::make_shared<Arriving>(socket, std::move(ssl), std::move(peer));
    const size_t at = next_thread_++ % threads_.size();
    if (at == 0) {
      place(arriving, at, 1);
    } else {
      threads_[at]->post([this, arriving, at] { place(arriving, at, 1); });
    }
  }

  bool is_full() const {
    return counters_->connections.load(std::memory_order_relaxed) >= limits_.max_connections;
  }

  // On the thread `at`, the `tried`th. Each knows only its own connections: where none of them may
  // go for the new one, the next is asked; where none of any may, the new one goes.
  void place(const std::shared_ptr<Arriving>& arriving, size_t at, size_t tried) {
    const std::shared_ptr<IoThread>& thread = threads_[at];
    if (is_full() && !thread->make_room()) {
      if (tried == threads_.size()) return;
      const size_t next = (at + 1) % threads_.size();
      threads_[next]->post([this, arriving, next, tried] { place(arriving, next, tried + 1); });
      return;
    }
    std::make_shared<Connection>(thread, arriving->take(), std::move(arriving->ssl),
                                 std::move(arriving->peer))
        ->start();
  }

  ServerLimits limits_;
  std::shared_ptr<ServerCounters> counters_;
  std::vector<std::shared_ptr<IoThread>> threads_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<std::string> unix_paths_;
  size_t next_thread_ = 0;  // of the accepting thread
  bool started_ = false, stopped_ = false;
};

}  // namespace

std::unique_ptr<HttpServer> make_http_server(HttpHandler handler, ServerLimits limits,
                                             int io_threads) {
  return std::make_unique<AsioHttpServer>(std::move(handler), limits, io_threads);
}

}  // namespace yard
