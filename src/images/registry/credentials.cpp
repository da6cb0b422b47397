#include "images/registry/credentials.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/registry/reference.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr size_t kMostConfigBytes = 1 << 20, kMostLogins = 1000, kLongestAddress = 1024;

// base64 of user:password, with or without its padding.
std::optional<std::string> decoded_login(std::string_view text) {
  std::string padded(trim(text));
  while (!padded.empty() && padded.size() % 4 != 0)
    padded += '=';
  return base64_decode(padded);
}

Result<RegistryCredential> read_login(const Json& entry) {
  RegistryCredential out;
  out.username = text_at(entry, {"username"});
  out.password = text_at(entry, {"password"});
  out.identity_token = text_at(entry, {"identitytoken"});
  out.registry_token = text_at(entry, {"registrytoken"});
  const std::string_view packed = text_at(entry, {"auth"});
  if (packed.empty()) return out;
  const auto login = decoded_login(packed);
  const size_t colon = login ? login->find(':') : std::string::npos;
  if (colon == std::string::npos)
    return error(Reason::Invalid, "has an `auth` that is not base64 of user:password");
  out.username = login->substr(0, colon);
  out.password = login->substr(colon + 1);
  // Docker once padded passwords with zeros.
  while (out.password.ends_with('\0'))
    out.password.pop_back();
  return out;
}

Result<void> read_logins(const Json& section, DockerConfig& out) {
  if (!section.is_object()) return error(Reason::Invalid, "has no mapping of registries to logins");
  for (const auto& member : section.get_object()) {
    if (out.logins.size() == kMostLogins || member.key().size() > kLongestAddress)
      return error(Reason::Invalid, "has too many logins, or a registry that is too long");
    auto login = read_login(member.value());
    if (!login) {
      Error failure = std::move(login).error();
      failure.message = fmt::format("the login for {} {}", quoted(std::string_view(member.key())),
                                    failure.message);
      return failure;
    }
    if (!login->is_anonymous()) out.logins.emplace_back(std::string(member.key()), *login);
  }
  return {};
}

Result<Json> parse_object(std::string_view text) {
  if (text.size() > kMostConfigBytes) return error(Reason::Invalid, "is too large");
  auto parsed = parse_json(text, {.max_depth = 32});
  // The parser's own words may quote what it read.
  if (!parsed || !parsed->value.is_object()) return error(Reason::Invalid, "is no JSON object");
  return std::move(parsed->value);
}

// host[:port][/path] of an address that may have a scheme; /v1/ and /v2/ name the API, not a path.
std::string login_key(std::string_view address) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (address.starts_with(scheme)) address.remove_prefix(scheme.size());
  }
  const size_t slash = address.find('/');
  const std::string_view host = address.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : address.substr(slash);
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) path.remove_prefix(3);
  return std::string(host) + std::string(path == "/" ? "" : path);
}

struct HostParts {
  std::vector<std::string_view> labels;
  std::string_view port, path;
};

HostParts parts_of(std::string_view key) {
  HostParts out;
  const size_t slash = key.find('/');
  std::string_view host = key.substr(0, slash);
  if (slash != std::string_view::npos) out.path = key.substr(slash);
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    out.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  out.labels = split(host, '.');
  return out;
}

// `*` and `?` of Go's filepath.Match; the labels that are matched are short.
bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

bool key_matches(const std::string& key, std::string_view name) {
  const HostParts wanted = parts_of(key), found = parts_of(name);
  if (wanted.port != found.port || wanted.labels.size() != found.labels.size()) return false;
  if (!found.path.starts_with(wanted.path)) return false;
  return std::ranges::equal(wanted.labels, found.labels, matches_glob);
}

bool is_of_default_registry(std::string_view name) {
  return name.substr(0, name.find('/')) == kDefaultRegistry;
}

}  // namespace

Result<DockerConfig> parse_docker_config(std::string_view text) {
  const Json tree = TRY(parse_object(text));
  DockerConfig out;
  if (const Json* logins = find(tree, "auths"); logins && !logins->is_null())
    TRY(read_logins(*logins, out));
  out.store = text_at(tree, {"credsStore"});
  if (const Json* helpers = find(tree, "credHelpers"); helpers && helpers->is_object()) {
    for (const auto& member : helpers->get_object()) {
      if (member.value().is_string())
        out.helpers[std::string(member.key())] = std::string(member.value().get_string());
    }
  }
  return out;
}

Result<DockerConfig> parse_legacy_docker_config(std::string_view text) {
  const Json tree = TRY(parse_object(text));
  DockerConfig out;
  TRY(read_logins(tree, out));
  return out;
}

bool is_login_for(std::string_view address, std::string_view name) {
  return key_matches(login_key(address), name);
}

std::vector<RegistryCredential> matching_logins(const DockerConfig& config, std::string_view name) {
  std::vector<std::pair<std::string, const RegistryCredential*>> found;
  const auto collect = [&](auto matches) {
    for (const auto& [address, login] : config.logins) {
      std::string key = login_key(address);
      if (matches(key)) found.emplace_back(std::move(key), &login);
    }
  };
  collect([&](const std::string& key) { return key_matches(key, name); });
  // The default registry's logins lie under its older name.
  if (found.empty() && is_of_default_registry(name))
    collect([](const std::string& key) { return key == default_registry_login(); });
  // Reverse order puts the longer of two paths of one host first.
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<RegistryCredential> out;
  for (const auto& [key, login] : found)
    out.push_back(*login);
  return out;
}

std::optional<HelperQuestion> helper_for(const DockerConfig& config, std::string_view name) {
  const std::string registry(name.substr(0, name.find('/')));
  const bool is_default = is_of_default_registry(name);
  std::vector<std::string> servers = {registry};
  if (is_default) servers = {default_registry_login_address(), default_registry_login(), registry};
  for (const std::string& server : servers) {
    const auto found = config.helpers.find(server);
    if (found != config.helpers.end()) return HelperQuestion{found->second, server};
  }
  if (config.store.empty()) return std::nullopt;
  return HelperQuestion{config.store, servers.front()};
}

Result<RegistryCredential> parse_helper_answer(std::string_view text) {
  const Json tree = TRY(parse_object(text));
  RegistryCredential out;
  out.username = text_at(tree, {"Username"});
  out.password = text_at(tree, {"Secret"});
  if (out.password.empty()) return error(Reason::Invalid, "names no secret");
  // A helper says so when its secret is a token to be exchanged.
  if (out.username == "<token>") {
    out.identity_token = std::move(out.password);
    out.username.clear();
    out.password.clear();
  }
  return out;
}

}  // namespace yard
