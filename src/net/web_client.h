#pragma once
// A blocking HTTP(S) client for other people's servers: the system's authorities and more where
// configured, proxies, connections kept for the next call. Any thread, several at once; a call
// holds one connection and one buffer of 64 kB.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/url.h"

namespace yard {

// How a server proves that it is the one meant.
struct WebTrust {
  std::string extra_ca_pem;  // trusted besides the system's authorities
  bool verifies = true;      // false: anybody may answer
  friend auto operator<=>(const WebTrust&, const WebTrust&) = default;
};

struct WebRequest {
  std::string method = "GET";
  WebUrl url;
  WebTrust trust;
  Headers headers;
  std::string body;
  size_t most_kept = 64 * 1024;  // of a body that no sink takes
};

// Takes a body piece by piece; an error ends the call with that error.
using WebSink = std::function<Result<void>(std::string_view)>;
// Asked once the head has come: who takes the body. None: it is kept in the response. A kept body
// over `most_kept` fails the call with RequestEntityTooLarge, unless the status is an error's: then
// its beginning is enough.
using WebSinkChooser = std::function<WebSink(const ClientResponse& head)>;

struct WebTimeouts {
  Duration connect = std::chrono::seconds(15);  // address, connection, TLS
  Duration head = std::chrono::seconds(60);     // the request is out, the answer begins
  Duration silence = std::chrono::seconds(60);  // between two pieces of a body
};

class WebClient {
 public:
  virtual ~WebClient() = default;
  // One exchange: a redirect is an answer like any other. ServiceUnavailable when the server cannot
  // be reached (cause Unreachable), is not the one expected or speaks no TLS (cause Untrusted), or
  // ends before its answer is whole; Timeout.
  virtual Result<ClientResponse> call(const WebRequest& request,
                                      const WebSinkChooser& sinks = {}) = 0;
};

std::unique_ptr<WebClient> make_web_client(ProxySettings proxies, WebTimeouts timeouts = {});

}  // namespace yard
