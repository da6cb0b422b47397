#pragma once
// One open connection of a blocking client: a socket and what speaks over it. Only net/ includes
// this.

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/tls.h"

namespace yard {

using WireClock = std::chrono::steady_clock;
using WireDeadline = std::optional<WireClock::time_point>;  // none: wait for ever

// Whom the certificate must name.
struct WirePeer {
  std::string host;
  int port = 0;
};

class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void speak_plain() { transport_.emplace(fd_, &output_); }
  Result<void> speak_tls(SSL_CTX* context, const WirePeer& peer, const WireDeadline& deadline);
  Result<void> send(std::string_view bytes, const WireDeadline& deadline);
  // Empty at the end of the connection.
  Result<std::string_view> receive(const WireDeadline& deadline);
  // The other end has closed it.
  bool is_stale() const;

 private:
  Result<void> send_output(const WireDeadline& deadline);

  int fd_;
  std::string output_;
  std::optional<Transport> transport_;
  std::array<char, 64 * 1024> input_;
};

// A connected socket; ServiceUnavailable when nobody is there.
Result<int> connect_unix(const std::string& path, const WireDeadline& deadline);
Result<int> connect_tcp(const std::string& host, int port, const WireDeadline& deadline);

// `[::1]:443`, `example.org:443`: as a Host header and CONNECT say it.
std::string authority(std::string_view host, int port);

}  // namespace yard
