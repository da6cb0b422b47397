#pragma once
// The HTTPS server and the Unix socket of our own command line. Asio for readiness, an SSL object
// and our own buffers for speed (spec/api-facts.md); bounded in everything a client can make grow.

#include <memory>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "net/http.h"

namespace yard {

struct ServerLimits {
  size_t max_body = 3 * 1024 * 1024;                   // above: 413 in the API's words
  size_t max_receiving = 256 * 1024 * 1024;            // of all unfinished bodies; above: 429
  size_t max_header = 64 * 1024;                       // above: 431
  size_t max_connections = 4096;                       // above: the one idle for longest is closed
  Duration header_timeout = std::chrono::seconds(30);  // half-sent requests, unfinished handshakes
  Duration body_timeout = std::chrono::seconds(60);
  Duration idle_timeout = std::chrono::minutes(5);    // keep-alive between requests
  Duration write_timeout = std::chrono::seconds(60);  // a client that reads nothing
  Duration tunnel_timeout = std::chrono::hours(4);    // exec, attach, port-forward without a byte
};

struct TlsFiles {
  std::string certificate_pem, key_pem;  // contents, not paths
  std::string client_ca_pem;  // client certificates are asked for, and verified when sent
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual Result<int> listen_tls(const std::string& address, int port,
                                 const TlsFiles& tls) = 0;  // answers the port
  // The same on a socket that listens already, wherever it was made; owns it.
  virtual Result<void> listen_tls_on(int listener, const TlsFiles& tls) = 0;
  virtual Result<void> listen_unix(const std::string& path) = 0;  // 0600, peer uid checked
  virtual void start() = 0;
  virtual void
  stop() = 0;  // finishes answers under way (bounded), closes streams, joins the I/O thread
  struct Statistics {
    size_t connections = 0, streams = 0;
    uint64_t accepted = 0, refused = 0, bytes_in = 0, bytes_out = 0;
  };
  virtual Statistics statistics() const = 0;
};

// `handler` is called on an I/O thread for each whole request.
std::unique_ptr<HttpServer> make_http_server(HttpHandler handler, ServerLimits limits = {},
                                             int io_threads = 1);

}  // namespace yard
