#include "api/validation.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>

namespace yard {

const char* const kFieldIsImmutable = "field is immutable";

void append_errors(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

void add_problems(FieldErrors& errors, const FieldPath& path, std::string_view value,
                  const std::vector<std::string>& problems) {
  for (const std::string& problem : problems)
    errors.push_back(invalid(path, Json(value), problem));
}

void check_one_of(FieldErrors& errors, const FieldPath& path, const Json* value,
                  const std::vector<std::string>& allowed, Presence presence) {
  std::string_view text = value == nullptr ? std::string_view() : text_of(*value);
  if (text.empty()) {
    if (presence == Presence::Required) errors.push_back(required(path));
  } else if (std::ranges::find(allowed, text) == allowed.end()) {
    errors.push_back(not_supported(path, Json(text), allowed));
  }
}

void check_immutable(FieldErrors& errors, const FieldPath& path, const Json* now,
                     const Json* before) {
  if (same(now, before)) return;
  errors.push_back(invalid(path, now == nullptr ? Json() : *now, kFieldIsImmutable));
}

void check_port(FieldErrors& errors, const FieldPath& path, int64_t port) {
  if (port < 1 || port > 65535) {
    errors.push_back(invalid(path, Json(port), "must be between 1 and 65535, inclusive"));
  }
}

std::vector<std::string> port_name_problems(std::string_view name) {
  auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  std::vector<std::string> problems;
  if (name.size() > 15) problems.emplace_back("must be no more than 15 characters");
  if (!std::ranges::all_of(name, is_allowed)) {
    problems.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!std::ranges::any_of(name, is_letter)) {
    problems.emplace_back("must contain at least one letter (a-z)");
  }
  if (name.find("--") != name.npos) {
    problems.emplace_back("must not contain consecutive hyphens");
  }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    problems.emplace_back("must not begin or end with a hyphen");
  }
  return problems;
}

namespace {

using Ipv4 = std::array<uint8_t, 4>;
using Ipv6 = std::array<uint8_t, 16>;

std::optional<Ipv4> ipv4_of(std::string_view text) {
  Ipv4 bytes;
  std::string terminated(text);
  if (inet_pton(AF_INET, terminated.c_str(), &bytes) != 1) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<Ipv6> ipv6_of(std::string_view text) {
  Ipv6 bytes;
  std::string terminated(text);
  if (inet_pton(AF_INET6, terminated.c_str(), &bytes) != 1) return std::nullopt;
  return bytes;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != text.npos;
}

// The special range an address lies in, as the complaint about it; "" for an ordinary address.
std::string_view special_range(std::string_view text) {
  constexpr std::string_view kUnspecified = "may not be unspecified (0.0.0.0 or ::)";
  constexpr std::string_view kLoopback = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
  constexpr std::string_view kLinkLocal =
      "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
  constexpr std::string_view kMulticast =
      "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
  if (std::optional<Ipv4> ip = ipv4_of(text)) {
    const Ipv4& b = *ip;
    if (b == Ipv4{}) return kUnspecified;
    // Pods without a network of their own have addresses of 127.64.0.0/10 (node/agent.cpp).
    if (b[0] == 127 && (b[1] & 0xc0) != 64) return kLoopback;
    if (b[0] == 169 && b[1] == 254) return kLinkLocal;
    if (b[0] == 224 && b[1] == 0 && b[2] == 0) return kMulticast;
    return "";
  }
  if (std::optional<Ipv6> ip = ipv6_of(text)) {
    const Ipv6& b = *ip;
    if (b == Ipv6{}) return kUnspecified;
    if (b == Ipv6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) return kLoopback;
    if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) return kLinkLocal;
    if (b[0] == 0xff && b[1] == 0x02) return kMulticast;
  }
  return "";
}

}  // namespace

bool is_ipv4(std::string_view text) {
  return !has_nul(text) && ipv4_of(text).has_value();
}

bool is_ip(std::string_view text) {
  return !has_nul(text) && (ipv4_of(text).has_value() || ipv6_of(text).has_value());
}

void check_ip(FieldErrors& errors, const FieldPath& path, std::string_view text) {
  if (is_ip(text)) return;
  errors.push_back(
      invalid(path, Json(text), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
}

void check_endpoint_ip(FieldErrors& errors, const FieldPath& path, std::string_view text) {
  check_ip(errors, path, text);
  std::string_view range = special_range(text);
  if (!range.empty()) errors.push_back(invalid(path, Json(text), range));
}

std::vector<std::string> config_key_problems(std::string_view key) {
  auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  std::vector<std::string> problems;
  if (key.size() > 253) problems.emplace_back("must be no more than 253 characters");
  if (key.empty() || !std::ranges::all_of(key, is_allowed)) {
    problems.emplace_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')");
  } else if (key == ".") {
    problems.emplace_back("must not be '.'");
  } else if (key == "..") {
    problems.emplace_back("must not be '..'");
  } else if (key.starts_with("..")) {
    problems.emplace_back("must not start with '..'");
  }
  return problems;
}

}  // namespace yard
