#include "images/registry/logins.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr size_t kMostFileBytes = 1 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<std::string> file_content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::string out(kMostFileBytes + 1, '\0');
  stream.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<size_t>(stream.gcount()));
  return out;
}

Result<DockerConfig> parse_secret(const PullSecret& secret) {
  if (secret.type == "kubernetes.io/dockerconfigjson") return parse_docker_config(secret.content);
  if (secret.type == "kubernetes.io/dockercfg") return parse_legacy_docker_config(secret.content);
  return error(Reason::Invalid, "has a type that holds no login");
}

}  // namespace

std::vector<RegistryCredential> Logins::for_image(std::string_view name) {
  std::vector<RegistryCredential> out;
  const auto add = [&](const RegistryCredential& login) {
    if (std::ranges::find(out, login) == out.end()) out.push_back(login);
  };
  for (const DockerConfig& config : configs_) {
    for (const RegistryCredential& login : matching_logins(config, name))
      add(login);
    const auto question = helper_for(config, name);
    const auto answer = question ? ask(*question) : std::nullopt;
    if (answer) add(*answer);
  }
  return out;
}

std::optional<RegistryCredential> Logins::ask(const HelperQuestion& question) {
  // Held while the helper runs: several layers of one image need the same answer.
  std::lock_guard lock(mutex_);
  const auto key = std::pair(question.helper, question.server);
  if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  auto answer =
      ask_helper_ ? ask_helper_(question) : Result<std::optional<RegistryCredential>>(std::nullopt);
  if (!answer) problems_.push_back(answer.error().message);
  return answers_[key] = answer ? std::move(*answer) : std::nullopt;
}

std::vector<std::string> Logins::problems() const {
  std::lock_guard lock(mutex_);
  return problems_;
}

void Logins::add_problem(std::string problem) {
  std::lock_guard lock(mutex_);
  problems_.push_back(std::move(problem));
}

LoginPlaces environment_login_places() {
  return {variable("HOME"), variable("XDG_RUNTIME_DIR"), variable("XDG_CONFIG_HOME"),
          variable("DOCKER_CONFIG"), variable("REGISTRY_AUTH_FILE")};
}

std::vector<std::string> login_files(const LoginPlaces& places) {
  if (!places.registry_auth_file.empty()) return {places.registry_auth_file};
  std::vector<std::string> out;
  if (!places.runtime_folder.empty())
    out.push_back(places.runtime_folder + "/containers/auth.json");
  if (!places.config_home.empty()) {
    out.push_back(places.config_home + "/containers/auth.json");
  } else if (!places.home.empty()) {
    out.push_back(places.home + "/.config/containers/auth.json");
  }
  if (!places.docker_config.empty()) {
    out.push_back(places.docker_config + "/config.json");
  } else if (!places.home.empty()) {
    out.push_back(places.home + "/.docker/config.json");
  }
  if (!places.home.empty()) out.push_back(places.home + "/.dockercfg");
  return out;
}

GatheredLogins gather_logins(const std::vector<PullSecret>& secrets,
                             const std::vector<std::string>& files) {
  GatheredLogins out;
  const auto add = [&](std::string_view what, Result<DockerConfig> config) {
    if (config) {
      out.configs.push_back(std::move(*config));
    } else {
      out.problems.push_back(fmt::format("{}: {}", what, config.error().message));
    }
  };
  for (const PullSecret& secret : secrets)
    add("a Secret of imagePullSecrets", parse_secret(secret));
  for (const std::string& file : files) {
    const auto content = file_content(file);
    if (!content) continue;
    add(file, file.ends_with(".dockercfg") ? parse_legacy_docker_config(*content)
                                           : parse_docker_config(*content));
  }
  return out;
}

}  // namespace yard
