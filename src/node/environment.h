#pragma once
// A container's environment, and $(VAR) in its command (kubernetes-core C2, C3). Pure: objects come
// through a lookup.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/shared_json.h"

namespace yard {

// Finds an object of the pod's namespace: ("ConfigMap", name), ("Secret", name),
// ("PersistentVolumeClaim", name); or a PersistentVolume. Null when there is none.
using ObjectLookup = std::function<SharedJson(std::string_view kind, std::string_view name)>;

// The text of a ServiceAccount token of the pod's, as prepared before it starts.
using TokenLookup = std::function<std::string(std::string_view audience, int64_t seconds)>;

// What the environment can refer to besides the pod itself.
struct PodFactsForEnv {
  std::string pod_ip, host_ip;
  Json allocatable;  // of the node: limits that are unset
  ObjectLookup find;
  TokenLookup token;  // empty: no tokens, their files are empty
};

using Environment = std::vector<std::pair<std::string, std::string>>;  // in order; a name once

// `base` comes first and is overridden: PATH, HOSTNAME, the API server's address.
Result<Environment> container_environment(const Json& pod, const Json& container,
                                          const PodFactsForEnv& facts, const Environment& base);

// $(NAME) → value, unknown stays; $$ → $. One pass.
std::string expand(std::string_view text, const Environment& environment);

// The text of a fieldRef, and of a resourceFieldRef of `container`.
Result<std::string> field_ref_text(const Json& pod, std::string_view path,
                                   const PodFactsForEnv& facts);
Result<std::string> resource_ref_text(const Json& container, const Json& ref,
                                      const Json& allocatable);

// The value of a ConfigMap's or Secret's key; Secrets are decoded. nullopt: no such key.
std::optional<std::string> data_of(const Json& object, std::string_view key);
std::vector<std::string> keys_of(const Json& object);  // sorted

}  // namespace yard
