#include "images/registry/reference.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kLongestText = 4096, kLongestRepository = 255, kLongestTag = 128;

Error bad_reference(std::string_view text, std::string_view problem) {
  return error(Reason::Invalid, fmt::format("invalid reference format: {} {}",
                                            quoted(text.substr(0, 256)), problem));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}
bool is_lower_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}
bool has_upper(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_port(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_domain_name(std::string_view host) {
  for (const std::string_view part : split(host, '.')) {
    if (part.empty() || part.front() == '-' || part.back() == '-') return false;
    if (!std::ranges::all_of(part, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; }))
      return false;
  }
  return true;
}

// The grammar wants hexadecimal digits and colons between the brackets, and no more.
bool is_bracketed_address(std::string_view host) {
  if (host.size() < 4 || !host.starts_with('[') || !host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  return host.find(':') != std::string_view::npos && std::ranges::all_of(host, [](char c) {
           return is_lower_hex(c) || (c >= 'A' && c <= 'F') || c == ':';
         });
}

bool is_registry(std::string_view text) {
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
  return is_bracketed_address(host) || is_domain_name(host);
}

// Letters and digits, parted by `.`, `_`, `__` or any number of dashes.
bool is_path_component(std::string_view part) {
  size_t at = 0;
  const auto skip_alphanumeric = [&] {
    const size_t from = at;
    while (at < part.size() && (is_lower(part[at]) || is_digit(part[at])))
      ++at;
    return at > from;
  };
  if (!skip_alphanumeric()) return false;
  while (at < part.size()) {
    if (part[at] == '-') {
      while (at < part.size() && part[at] == '-')
        ++at;
    } else if (part.substr(at, 2) == "__") {
      at += 2;
    } else if (part[at] == '.' || part[at] == '_') {
      ++at;
    } else {
      return false;
    }
    if (!skip_alphanumeric()) return false;
  }
  return true;
}

bool is_repository(std::string_view path) {
  return std::ranges::all_of(split(path, '/'), is_path_component);
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kLongestTag && is_word(tag[0]) &&
         std::ranges::all_of(tag, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_known_digest(std::string_view digest) {
  const size_t colon = digest.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view algorithm = digest.substr(0, colon), digits = digest.substr(colon + 1);
  const size_t wanted = algorithm == "sha256"   ? 64
                        : algorithm == "sha384" ? 96
                        : algorithm == "sha512" ? 128
                                                : 0;
  return wanted != 0 && digits.size() == wanted && std::ranges::all_of(digits, is_lower_hex);
}

// Whether what stands before the first slash is a registry rather than a user of the default one.
bool looks_like_registry(std::string_view text) {
  return text == "localhost" || text.find_first_of(".:") != std::string_view::npos ||
         has_upper(text);
}

}  // namespace

std::string default_registry_host() {
  return fmt::format("registry-1.{}", kDefaultRegistry);
}
std::string default_registry_login() {
  return fmt::format("index.{}", kDefaultRegistry);
}
std::string default_registry_login_address() {
  return fmt::format("https://{}/v1/", default_registry_login());
}

std::string ImageReference::name() const {
  return registry + '/' + repository;
}

std::string ImageReference::text() const {
  std::string out = name();
  if (!tag.empty()) out += ':' + tag;
  if (!digest.empty()) out += '@' + digest;
  return out;
}

std::string_view ImageReference::version() const {
  if (!digest.empty()) return digest;
  return tag.empty() ? std::string_view("latest") : std::string_view(tag);
}

Result<ImageReference> parse_reference(std::string_view text) {
  if (text.empty()) return error(Reason::Invalid, "invalid reference format: the name is empty");
  if (text.size() > kLongestText) return bad_reference(text, "is too long");
  if (text.size() == 64 && std::ranges::all_of(text, is_lower_hex))
    return bad_reference(text, "is 64 hexadecimal digits, which name no repository");
  ImageReference out;
  std::string_view rest = text;
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && looks_like_registry(text.substr(0, slash))) {
    out.registry = text.substr(0, slash);
    rest = text.substr(slash + 1);
    if (out.registry == default_registry_login()) out.registry = kDefaultRegistry;
    if (!is_registry(out.registry))
      return bad_reference(text, "names no registry before its first /");
  } else {
    out.registry = kDefaultRegistry;
  }
  if (const size_t at = rest.find('@'); at != std::string_view::npos) {
    out.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_known_digest(out.digest)) return bad_reference(text, "has a malformed digest");
  }
  // The colon of a port went with the registry; what is left parts the tag.
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    out.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_tag(out.tag)) return bad_reference(text, "has a malformed tag");
  }
  if (has_upper(rest)) return bad_reference(text, "must be lower case before its tag");
  if (!is_repository(rest)) return bad_reference(text, "names no repository");
  out.repository = rest;
  if (out.registry == kDefaultRegistry && rest.find('/') == std::string_view::npos)
    out.repository = "library/" + out.repository;
  if (out.repository.size() > kLongestRepository)
    return bad_reference(text, "has a repository of more than 255 characters");
  return out;
}

}  // namespace yard
