#pragma once
// Addresses of the web, http and https alone, and the proxy that stands before one. Pure.

#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

struct WebUrl {
  bool is_tls = true;
  std::string host;  // lower case; an IPv6 address without its brackets
  int port = 443;
  std::string target = "/";  // path?query, as it is sent: printable, no space

  // scheme://host:port, the port always said: two of one origin are one server.
  std::string origin() const;
};

// A fragment is dropped; a user name in it is refused, so that no password is ever part of one.
Result<WebUrl> parse_url(std::string_view text);
// What a Location header of an answer from `base` means.
Result<WebUrl> resolve_url(const WebUrl& base, std::string_view location);

// What may stand in a query or a form as it is; everything else becomes %41.
std::string query_encoded(std::string_view text);

// HTTPS_PROXY, HTTP_PROXY and NO_PROXY (also in lower case), as Go's programs read them.
struct ProxySettings {
  std::string for_tls, for_plain, none_for;
};
ProxySettings environment_proxies();

struct WebProxy {
  std::string host;  // empty: none
  int port = 0;
  std::string user_and_password;  // of the proxy, for its own header; "" without
};
// No error shows what a proxy's address holds: it may be a password.
Result<WebProxy> proxy_for(const WebUrl& url, const ProxySettings& settings);

}  // namespace yard
