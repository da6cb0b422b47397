#pragma once
// What the tests of the server share: a server on loopback and a temporary Unix socket,
// certificates made once, and a raw socket that says exactly the bytes a test wants.

#include <arpa/inet.h>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "net/certificates.h"
#include "net/client.h"
#include "net/server.h"

namespace yard {

constexpr auto kTestPatience = std::chrono::seconds(20);  // far above what any step takes

inline Time test_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

inline SharedBytes bytes_of(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

inline HttpResponse text_response(std::string text, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "text/plain"}};
  response.body = {bytes_of(std::move(text))};
  return response;
}

struct TestCertificates {
  KeyPair ca = make_ca("test-ca", test_now()).value();
  KeyPair other_ca = make_ca("test-ca", test_now()).value();  // the same name, another key
  KeyPair server =
      make_server_certificate(ca, {"localhost", "127.0.0.1", "::1"}, test_now()).value();
  KeyPair alice = make_client_certificate(ca, "alice", {"system:masters", "team,one"}, test_now(),
                                          std::chrono::hours(1))
                      .value();
  KeyPair mallory = make_client_certificate(other_ca, "alice", {"system:masters"}, test_now(),
                                            std::chrono::hours(1))
                        .value();
  static const TestCertificates& get() {
    static TestCertificates made;
    return made;
  }
};

class RunningServer {
 public:
  explicit RunningServer(HttpHandler handler, ServerLimits limits = {}, int io_threads = 1)
      : server(make_http_server(std::move(handler), limits, io_threads)) {
    char name[] = "/tmp/yard-net-XXXXXX";
    folder = ::mkdtemp(name);
    unix_path = folder + "/sock/yard.sock";
    const auto& made = TestCertificates::get();
    port = server
               ->listen_tls(
                   "127.0.0.1", 0,
                   {made.server.certificate_pem, made.server.key_pem, made.ca.certificate_pem})
               .value();
    auto listening = server->listen_unix(unix_path);
    check(listening.has_value(), "the test's socket can be made");
    server->start();
  }
  ~RunningServer() {
    server->stop();
    std::filesystem::remove_all(folder);
  }

  ClientTarget tls_target() const {
    ClientTarget target;
    target.host = "127.0.0.1";
    target.port = port;
    target.ca_pem = TestCertificates::get().ca.certificate_pem;
    return target;
  }
  ClientTarget tls_target_as(const KeyPair& pair) const {
    ClientTarget target = tls_target();
    target.certificate_pem = pair.certificate_pem;
    target.key_pem = pair.key_pem;
    return target;
  }
  ClientTarget unix_target() const {
    ClientTarget target;
    target.unix_path = unix_path;
    return target;
  }

  std::unique_ptr<HttpServer> server;
  std::string folder, unix_path;
  int port = 0;
};

// Blocking, with the test's patience on every read.
class RawSocket {
 public:
  static RawSocket to_unix(const RunningServer& server) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, server.unix_path.data(), server.unix_path.size());
    return RawSocket(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  static RawSocket to_tls_port(const RunningServer& server) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return RawSocket(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawSocket() { close(); }

  // What the server no longer reads is not an error of the test.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  int fd() const { return fd_; }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  std::string read_until_closed() {
    return read_while([](const std::string&) { return true; });
  }
  std::string read_until(std::string_view ending) {
    return read_while(
        [ending](const std::string& all) { return !std::string_view(all).ends_with(ending); });
  }

 private:
  RawSocket(int family, const sockaddr* address, socklen_t size)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(fd_, address, size), 0) << std::strerror(errno);
  }
  template <typename Wanted>
  std::string read_while(Wanted wants_more) {
    std::string all;
    while (wants_more(all)) {
      pollfd waiting{fd_, POLLIN, 0};
      int patience = static_cast<int>(std::chrono::milliseconds(kTestPatience).count());
      if (::poll(&waiting, 1, patience) <= 0) {
        ADD_FAILURE() << "nothing came after: " << all.substr(0, 2000);
        break;
      }
      char buffer[65536];
      ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

  int fd_;
};

// Waits for a value another thread sets.
template <typename T>
T wait_for(std::future<T> future) {
  check(future.wait_for(kTestPatience) == std::future_status::ready,
        "what the test waits for happens");
  return future.get();
}

}  // namespace yard
