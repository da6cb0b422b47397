#pragma once
// A server that says exactly what a test wants a registry to say: any status, cut in the middle,
// without an end. Plain HTTP on loopback.

#include <arpa/inet.h>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"

namespace yard {

struct FakeAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  size_t cut_after = std::string::npos;  // of the body, then the connection ends
  bool is_endless = false;               // the body again and again, no length
};

struct FakeRequest {
  std::string method, target, head, body;
  std::string header(std::string_view name) const {
    for (const std::string_view line : split(head, '\n')) {
      const size_t colon = line.find(':');
      if (colon != std::string_view::npos && equals_ignore_case(line.substr(0, colon), name))
        return std::string(trim(line.substr(colon + 1)));
    }
    return "";
  }
};

class FakeRegistry {
 public:
  using Handler = std::function<FakeAnswer(const FakeRequest&)>;

  explicit FakeRegistry(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool listens =
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::listen(listener_, 64) == 0 &&
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    check(listens, "the test can listen on loopback");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~FakeRegistry() {
    ended_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      std::lock_guard lock(mutex_);
      for (const int fd : open_)
        ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : connections_)
      thread.join();
  }

  std::string name() const { return fmt::format("127.0.0.1:{}", port_); }
  // "GET /v2/a/manifests/1", in the order they came.
  std::vector<std::string> seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void accept_all() {
    while (!ended_) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      std::lock_guard lock(mutex_);
      open_.push_back(fd);
      connections_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    std::string input;
    FakeRequest request;
    while (!ended_ && read_request(fd, input, request)) {
      {
        std::lock_guard lock(mutex_);
        seen_.push_back(request.method + " " + request.target);
      }
      if (!say(fd, request, handler_(request))) break;
    }
    std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  static bool read_request(int fd, std::string& input, FakeRequest& request) {
    size_t end;
    const auto more = [&] {
      char buffer[4096];
      const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
      if (got > 0) input.append(buffer, static_cast<size_t>(got));
      return got > 0;
    };
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return false;
      // TLS begins with this byte; servers of plain HTTP answer it with a refusal.
      if (input.starts_with('\x16')) {
        send_all(fd, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        return false;
      }
    }
    request.head = input.substr(0, end + 2);
    input.erase(0, end + 4);
    const auto words =
        split(std::string_view(request.head).substr(0, request.head.find("\r\n")), ' ');
    request.method = words[0];
    request.target = words.size() > 1 ? words[1] : "";
    const auto length = parse_uint64(request.header("Content-Length")).value_or(0);
    while (input.size() < length) {
      if (!more()) return false;
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
  }

  bool say(int fd, const FakeRequest& request, const FakeAnswer& answer) {
    std::string head = fmt::format("HTTP/1.1 {} Said\r\n", answer.status);
    for (const auto& [name, value] : answer.headers)
      head += fmt::format("{}: {}\r\n", name, value);
    if (!answer.is_endless) head += fmt::format("Content-Length: {}\r\n", answer.body.size());
    head += "\r\n";
    if (!send_all(fd, head)) return false;
    if (request.method == "HEAD") return true;
    while (answer.is_endless) {
      if (!send_all(fd, answer.body)) return false;
    }
    return send_all(fd, std::string_view(answer.body).substr(0, answer.cut_after)) &&
           answer.cut_after >= answer.body.size();
  }

  static bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> connections_;
  std::vector<std::string> seen_;
  std::thread acceptor_;
};

}  // namespace yard
