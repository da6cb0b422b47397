#pragma once
// Logins: what docker's and podman's files and imagePullSecrets hold, and which of them are meant
// for an image. Pure; no text of an error shows what a login holds.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace yard {

struct RegistryCredential {
  std::string username, password;
  std::string identity_token;  // exchanged for a token (OAuth2's refresh token)
  std::string registry_token;  // sent as it is

  bool is_anonymous() const {
    return username.empty() && identity_token.empty() && registry_token.empty();
  }
  friend auto operator<=>(const RegistryCredential&, const RegistryCredential&) = default;
};

struct DockerConfig {
  std::vector<std::pair<std::string, RegistryCredential>> logins;  // by address, as written
  std::map<std::string, std::string> helpers;  // by registry: the X of docker-credential-X
  std::string store;                           // the helper of every other registry; "" for none
};

// {"auths": {...}, "credHelpers": {...}, "credsStore": "..."}: config.json, auth.json and Secrets
// of type kubernetes.io/dockerconfigjson.
Result<DockerConfig> parse_docker_config(std::string_view text);
// {"host": {"auth": ...}}: .dockercfg and Secrets of type kubernetes.io/dockercfg.
Result<DockerConfig> parse_legacy_docker_config(std::string_view text);

// The logins for `name` (registry/repository), the most exact first, as the kubelet chooses them:
// labels of the host may hold `*`, the port must be equal, the path is a prefix.
std::vector<RegistryCredential> matching_logins(const DockerConfig& config, std::string_view name);
// Whether one address of a login is meant for the image; the table of the rule above.
bool is_login_for(std::string_view address, std::string_view name);

// Which helper to ask about the registry of `name`, and the words to ask it with.
struct HelperQuestion {
  std::string helper, server;
  friend bool operator==(const HelperQuestion&, const HelperQuestion&) = default;
};
std::optional<HelperQuestion> helper_for(const DockerConfig& config, std::string_view name);
// What a helper printed on success.
Result<RegistryCredential> parse_helper_answer(std::string_view text);

}  // namespace yard
