#pragma once
// HTTP messages as plain values, and the two ways to answer one. No Asio here: the apiserver
// includes this.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace yard {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Who is on the other end, as the transport knows it.
struct Peer {
  std::string common_name;                 // of a verified client certificate; empty without one
  std::vector<std::string> organizations;  // its groups
  std::optional<Time> certificate_ends;    // it is no credential after that
  bool local_owner = false;                // Unix socket, same uid as the server (or root)
  std::string address;                     // for logs
};

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path?query
  Headers headers;
  std::string body;
  Peer peer;

  std::string_view path() const;                         // still percent-encoded
  std::string_view query() const;                        // without '?'
  std::string_view header(std::string_view name) const;  // case-insensitive; "" when absent
};

// Bytes that many connections may share.
using SharedBytes = std::shared_ptr<const std::string>;

struct HttpResponse {
  int status = 200;
  Headers headers;  // Content-Type etc.; Content-Length, Date and Connection are net's
  std::vector<SharedBytes> body;  // sent one after another: a list is never built as one string
  // Keeps what `slices` point into alive.
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::string_view> slices;  // when not empty they are the body, and `body` is not used
};

// The body of an answer that is not over yet (watch, log). Any thread.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual void write(SharedBytes bytes) = 0;  // queued; sent in order, several in one send
  virtual void close() = 0;                   // ends the body cleanly after what is queued
  virtual size_t queued_bytes() const = 0;    // not yet taken by the kernel: the caller's bound
  // Called once, on the I/O thread, when the client went away or the stream was closed.
  virtual void on_closed(std::function<void()> callback) = 0;
};

class Tunnel;

// One request's way back. Exactly one of send, stream and upgrade is called, from any thread.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;
  virtual std::shared_ptr<HttpStream> stream(int status, Headers headers) = 0;
  // Answers 101 and leaves HTTP: `use` gets the connection, on its I/O thread (net/tunnel.h),
  // unless the client has gone.
  virtual void upgrade(Headers headers, std::function<void(std::shared_ptr<Tunnel>)> use) = 0;
  // Runs the task on this connection's I/O thread: where verbs parse and encode.
  virtual void run_on_io(std::function<void()> task) = 0;
};

using HttpHandler = std::function<void(HttpRequest request, std::shared_ptr<Responder> responder)>;

// %41 -> A; nullopt on a broken escape. `plus_is_space` for query values.
std::string percent_decode(std::string_view text, bool plus_is_space, bool* ok = nullptr);
// All pairs of a query string, decoded, in order.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace yard
