#pragma once
// A blocking HTTP client for the command line and for tests: HTTPS with client certificates, or the
// Unix socket.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace yard {

struct ClientTarget {
  std::string unix_path;  // when set, the rest is not used
  std::string host;
  int port = 0;
  std::string ca_pem, certificate_pem, key_pem, bearer_token;
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
  std::string_view header(std::string_view name) const;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Keeps the connection for the next call. ServiceUnavailable when the server cannot be reached.
  virtual Result<ClientResponse> call(const std::string& method, const std::string& target,
                                      Headers headers, std::string body) = 0;
  // A body as it comes: `chunk` answers false to stop.
  virtual Result<ClientResponse> stream(const std::string& target, Headers headers,
                                        std::function<bool(std::string_view)> chunk) = 0;
};

std::unique_ptr<HttpClient> make_http_client(ClientTarget target,
                                             Duration timeout = std::chrono::seconds(30));

}  // namespace yard
