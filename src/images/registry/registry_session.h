#pragma once
// One conversation with the places an image can be had from: which routes there are, and a request
// along one of them with its logins, redirects and errors. registry.h is what others use.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "images/registry/authorizer.h"
#include "images/registry/registry.h"
#include "images/registry/registry_endpoint.h"

namespace yard {

// A place and whom we are there.
struct RegistryRoute {
  RegistryEndpoint endpoint;
  RegistryCredential login;
  friend bool same_place(const RegistryRoute& a, const RegistryRoute& b) {
    return a.endpoint.base.origin() == b.endpoint.base.origin() &&
           a.endpoint.repository == b.endpoint.repository;
  }
};

struct RegistryQuestion {
  std::string method = "GET";
  std::string path;  // below /v2/<repository>/
  Headers headers;
  size_t most_kept = 64 * 1024;
};

class Registry::Session {
 public:
  explicit Session(RegistrySetup setup);

  // Tries `ask` along each route until one succeeds; what served the image last goes first. The
  // error is that of the registry itself, with what its mirrors said.
  Result<void> along_routes(const ImageReference& image,
                            const std::function<Result<void>(const RegistryRoute&)>& ask);
  // Asks once more after what passes by itself. `failures` counts in a row: `ask` sets it back to
  // zero when it got further.
  Result<void> with_retries(const RegistryRoute& route,
                            const std::function<Result<void>(int& failures)>& ask);
  // One answer, whatever its status; 401 was answered as far as it can be, redirects are followed.
  Result<ClientResponse> send(const RegistryRoute& route, const RegistryQuestion& question,
                              const WebSinkChooser& sinks = {});
  // The error of an answer that is none of those `send`'s caller can use.
  Error refusal(const RegistryRoute& route, std::string_view what,
                const ClientResponse& response) const;

 private:
  Result<std::vector<RegistryRoute>> routes(const ImageReference& image);
  Result<ClientResponse> follow(const RegistryRoute& route, WebRequest request,
                                const WebSinkChooser& sinks);
  Result<ClientResponse> fetch_token(const RegistryRoute& route, const TokenRequest& request);
  Result<WebTrust> trust(const std::string& ca_file, bool verifies);
  Error finished(const ImageReference& image, Error failure, bool had_login,
                 const std::vector<std::string>& notes) const;

  const RegistrySetup setup_;
  Logins logins_;
  Authorizer authorizer_;
  std::unique_ptr<WebClient> web_;
  std::mutex mutex_;                                // of what follows
  std::map<std::string, RegistryRoute> last_good_;  // by the image's name
  std::map<std::string, std::string> authorities_;  // contents of CA files
};

}  // namespace yard
