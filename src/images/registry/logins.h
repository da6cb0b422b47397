#pragma once
// All logins a pull may use: the Secrets of its pod first, then what the user's own files and
// credential helpers hold.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "images/registry/credentials.h"

namespace yard {

// A Secret that imagePullSecrets names, decoded.
struct PullSecret {
  std::string type;     // kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg
  std::string content;  // of its one key
};

// A helper is asked about a server once a Registry.
using AskHelper =
    std::function<Result<std::optional<RegistryCredential>>(const HelperQuestion& question)>;

class Logins {
 public:
  Logins(std::vector<DockerConfig> configs, AskHelper ask_helper)
      : configs_(std::move(configs)), ask_helper_(std::move(ask_helper)) {}

  // The logins for registry/repository in the order they are tried; empty: nobody is logged in. Any
  // thread; blocks while a helper is asked.
  std::vector<RegistryCredential> for_image(std::string_view name);
  // What could not be read or asked, without what it holds: a pull that is refused says so.
  std::vector<std::string> problems() const;
  void add_problem(std::string problem);

 private:
  std::optional<RegistryCredential> ask(const HelperQuestion& question);

  const std::vector<DockerConfig> configs_;
  const AskHelper ask_helper_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::pair<std::string, std::string>, std::optional<RegistryCredential>> answers_;
  std::vector<std::string> problems_;
};

// What a user's environment says about where files of logins are.
struct LoginPlaces {
  std::string home, runtime_folder, config_home, docker_config, registry_auth_file;
};
LoginPlaces environment_login_places();
// REGISTRY_AUTH_FILE alone where it is set; else podman's files and then docker's.
std::vector<std::string> login_files(const LoginPlaces& places);

struct GatheredLogins {
  std::vector<DockerConfig> configs;
  std::vector<std::string> problems;
};
// Reads Secrets and files; one that is broken is a problem, and the others count.
GatheredLogins gather_logins(const std::vector<PullSecret>& secrets,
                             const std::vector<std::string>& files);

}  // namespace yard
