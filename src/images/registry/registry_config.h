#pragma once
// The `images.registries` section of config.yaml: how this machine reaches a registry.
//
//   images:
//     registries:
//       docker.io: {mirrors: ["http://10.0.0.5:5000", mirror.lab/hub]}   # tried in this order
//       first registry.lab:5000: {ca: /etc/lab/ca.pem}   # trusted besides the system's authorities
//       10.0.0.7:5000: {plainHttp: true}           # or insecure: true, TLS with anybody
//       "*": {mirrors: [cache.lab]}                # every registry without an entry

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

struct RegistryEntry {
  std::vector<std::string> mirrors;  // [http[s]://]host[:port][/prefix]
  bool is_insecure = false, is_plain = false;
  std::string ca_file;
};

struct RegistryConfig {
  std::map<std::string, RegistryEntry> entries;  // by the registry as images name it, or *
};

// What is wrong, under which keys below `registries`; nothing when all is well.
struct RegistryConfigProblem {
  std::vector<std::string> path;
  std::string words;
};
// `home` stands for ~ in the paths of authorities.
std::optional<RegistryConfigProblem> read_registry_config(const Json& section,
                                                          std::string_view home,
                                                          RegistryConfig& out);
// The same section again: how it reaches the process that pulls.
Json to_json(const RegistryConfig& config);

}  // namespace yard
