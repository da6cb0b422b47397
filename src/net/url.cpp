#include "net/url.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "net/http.h"

namespace yard {
namespace {

constexpr size_t kLongestUrl = 16 * 1024;  // signed addresses of blob stores are long

Error bad_url(std::string_view problem) {
  return error(Reason::BadRequest, fmt::format("an address that cannot be used: {}", problem));
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

struct HostPort {
  std::string host;
  std::string_view port;  // "" when not said
};

Result<HostPort> split_host(std::string_view text) {
  HostPort out;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_url("a bracket is not closed");
    out.host = lower(text.substr(1, end - 1));
    in6_addr address;
    if (::inet_pton(AF_INET6, out.host.c_str(), &address) != 1)
      return bad_url("what the brackets hold is no IPv6 address");
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(':')) return bad_url("its host is malformed");
    if (!text.empty()) out.port = text.substr(1);
    return out;
  }
  const size_t colon = text.find(':');
  out.host = lower(text.substr(0, colon));
  if (colon != std::string_view::npos) out.port = text.substr(colon + 1);
  if (out.host.empty()) return bad_url("it names no host");
  if (out.host.size() > 253 || !std::ranges::all_of(out.host, is_host_character))
    return bad_url("its host is malformed");
  return out;
}

Result<int> port_of(std::string_view text, int otherwise) {
  if (text.empty()) return otherwise;
  const auto port = parse_uint64(text);
  if (!port || *port < 1 || *port > 65535) return bad_url("its port is no number up to 65535");
  return static_cast<int>(*port);
}

bool is_target(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// The bytes of an address, 4 or 16; empty when it is a name.
std::string address_bytes(const std::string& host) {
  std::array<char, 16> bytes{};
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return std::string(bytes.data(), 4);
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return std::string(bytes.data(), 16);
  return {};
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  const std::string bytes = address_bytes(host);
  if (bytes.size() == 4) return bytes[0] == 127;
  return bytes.size() == 16 && bytes == std::string(15, '\0') + '\1';
}

bool shares_bits(std::string_view left, std::string_view right, size_t bits) {
  if (left.size() != right.size() || bits > left.size() * 8) return false;
  if (left.substr(0, bits / 8) != right.substr(0, bits / 8)) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - bits % 8));
  return ((left[bits / 8] ^ right[bits / 8]) & mask) == 0;
}

// One word of NO_PROXY: *, an address, a range, a domain (with its subdomains), .domain (these
// alone), each of the first and of domains with a port.
bool is_exempted_by(std::string_view word, const WebUrl& url) {
  if (word == "*") return true;
  const std::string address = address_bytes(url.host);
  const size_t slash = word.find('/');
  if (slash != std::string_view::npos) {
    const auto bits = parse_uint64(word.substr(slash + 1));
    const std::string range = address_bytes(std::string(word.substr(0, slash)));
    return bits && !address.empty() && shares_bits(range, address, *bits);
  }
  std::string name = lower(word);
  if (const std::string plain = address_bytes(name); !plain.empty()) return plain == address;
  auto parts = split_host(name.starts_with('.')    ? std::string_view(name).substr(1)
                          : name.starts_with("*.") ? std::string_view(name).substr(2)
                                                   : std::string_view(name));
  if (!parts) return false;
  if (!parts->port.empty() && parts->port != std::to_string(url.port)) return false;
  if (const std::string plain = address_bytes(parts->host); !plain.empty()) return plain == address;
  const bool only_below = name.starts_with('.') || name.starts_with("*.");
  return (!only_below && url.host == parts->host) || url.host.ends_with("." + parts->host);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) value = std::getenv(lower(name).c_str());
  return value ? value : "";
}

}  // namespace

std::string WebUrl::origin() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", is_tls ? "https" : "http", is_v6 ? "[" : "", host,
                     is_v6 ? "]" : "", port);
}

Result<WebUrl> parse_url(std::string_view text) {
  if (text.size() > kLongestUrl) return bad_url("it is too long");
  WebUrl url;
  const size_t colon = text.find("://");
  const std::string scheme = colon == std::string_view::npos ? "" : lower(text.substr(0, colon));
  if (scheme != "http" && scheme != "https")
    return bad_url("it begins with neither http:// nor https://");
  url.is_tls = scheme == "https";
  text.remove_prefix(colon + 3);
  text = text.substr(0, text.find('#'));
  const size_t end = text.find_first_of("/?");
  const std::string_view host = text.substr(0, end);
  if (host.find('@') != std::string_view::npos) return bad_url("it names a user");
  HostPort parts = TRY(split_host(host));
  url.port = TRY(port_of(parts.port, url.is_tls ? 443 : 80));
  url.host = std::move(parts.host);
  if (end != std::string_view::npos) {
    url.target = (text[end] == '?' ? "/" : "") + std::string(text.substr(end));
    if (!is_target(url.target)) return bad_url("it has a character that no address has");
  }
  return url;
}

Result<WebUrl> resolve_url(const WebUrl& base, std::string_view location) {
  if (location.empty()) return bad_url("it is empty");
  if (location.starts_with("//"))
    return parse_url(fmt::format("{}:{}", base.is_tls ? "https" : "http", location));
  const size_t colon = location.find("://");
  if (colon != std::string_view::npos && colon < location.find_first_of("/?#"))
    return parse_url(location);
  std::string target(location);
  if (location.starts_with('?')) {
    target = base.target.substr(0, base.target.find('?')) + target;
  } else if (!location.starts_with('/')) {
    const std::string path = base.target.substr(0, base.target.find('?'));
    target = path.substr(0, path.rfind('/') + 1) + target;
  }
  return parse_url(base.origin() + target);
}

std::string query_encoded(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("-._~", c) != nullptr;
    if (plain && c != '\0') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

ProxySettings environment_proxies() {
  return {variable("HTTPS_PROXY"), variable("HTTP_PROXY"), variable("NO_PROXY")};
}

Result<WebProxy> proxy_for(const WebUrl& url, const ProxySettings& settings) {
  const std::string& named = url.is_tls ? settings.for_tls : settings.for_plain;
  if (named.empty() || is_loopback(url.host)) return WebProxy{};
  for (std::string_view word : split(settings.none_for, ',')) {
    word = trim(word);
    if (!word.empty() && is_exempted_by(word, url)) return WebProxy{};
  }
  std::string_view text = named;
  const std::string_view variable_name = url.is_tls ? "HTTPS_PROXY" : "HTTP_PROXY";
  WebProxy proxy;
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.find("://") != std::string_view::npos)
    return error(
        Reason::BadRequest,
        fmt::format("{} must be an http:// address: a proxy of another sort cannot be used",
                    variable_name));
  text = text.substr(0, text.find_first_of("/?#"));
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    proxy.user_and_password = percent_decode(text.substr(0, at), false);
    text.remove_prefix(at + 1);
  }
  auto parts = split_host(text);
  auto port = parts ? port_of(parts->port, 80) : Result<int>(parts.error());
  if (!port)
    return error(Reason::BadRequest, fmt::format("{} is no address of a proxy", variable_name));
  proxy.host = std::move(parts->host);
  proxy.port = *port;
  return proxy;
}

}  // namespace yard
