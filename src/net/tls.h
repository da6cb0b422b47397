#pragma once
// OpenSSL as the server and the client use it: an SSL object that reads from a socket and writes
// into a string, so that one send carries a whole answer. Only net/ includes this.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "base/result.h"
#include "net/client.h"
#include "net/server.h"

namespace yard {

template <auto free_function>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Ssl = std::unique_ptr<SSL, OpensslFree<SSL_free>>;
using SslContext = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;

Result<SslContext> make_server_context(const TlsFiles& files);
Result<SslContext> make_client_context(const ClientTarget& target);
// For other people's servers: the system's authorities and these.
Result<SslContext> make_web_context(const std::string& extra_ca_pem, bool verifies);

// The oldest entry of OpenSSL's error queue of this thread in words; empties the queue.
std::string take_tls_error();

enum class Io {
  Done,
  Again,  // nothing now: wait until the socket is readable
  Eof,    // the other end has said all it will
  Failed,
};

// The bytes of one connection, encrypted or plain. Not the socket's owner; non-blocking sockets
// only.
class Transport {
 public:
  // Plain.
  Transport(int fd, std::string* output) : fd_(fd), output_(output) {}
  // TLS; the direction comes from SSL_set_accept_state or SSL_set_connect_state.
  Transport(int fd, std::string* output, Ssl ssl);

  // Each of these may append bytes for the other end to `output`; the caller sends them.
  Io handshake();
  struct Read {
    Io io;
    size_t size;
  };
  Read read(std::span<char> buffer);
  void write(std::string_view plaintext);
  void say_goodbye();  // close_notify

  // Bytes that were taken from the socket and not yet read: no readiness will announce them.
  bool has_buffered() const { return ssl_ && SSL_has_pending(ssl_.get()); }
  bool is_tls() const { return ssl_ != nullptr; }
  // After a failed handshake: the client spoke plain HTTP.
  bool met_plain_http() const { return met_plain_http_; }
  SSL* ssl() const { return ssl_.get(); }

 private:
  Io outcome(int result);

  int fd_;
  std::string* output_;
  Ssl ssl_;
  bool met_plain_http_ = false;
};

// Common name and organizations of the verified certificate the other end showed; empty without
// one.
Peer peer_of(SSL* ssl);

}  // namespace yard
