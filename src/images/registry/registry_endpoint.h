#pragma once
// From the config to the servers an image can be had from. Pure.

#include <string>
#include <vector>

#include "base/result.h"
#include "images/registry/reference.h"
#include "images/registry/registry_config.h"
#include "net/url.h"

namespace yard {

// [http[s]://]host[:port][/prefix] of the config.
struct MirrorAddress {
  WebUrl url;                // its target ends with /
  bool says_scheme = false;  // else its own entry says whether it is plain
};
Result<MirrorAddress> mirror_address(std::string_view text);

// One place that an image can be had from.
struct RegistryEndpoint {
  WebUrl base;             // target is / or the prefix, /prefix/
  std::string name;        // host[:port] as people say it
  std::string login_name;  // name/repository: what credentials are looked up by
  std::string repository;  // with the mirror's prefix
  std::string ca_file;
  bool verifies = true, is_mirror = false;
};
// The mirrors in order, and then the registry itself.
Result<std::vector<RegistryEndpoint>> registry_endpoints(const RegistryConfig& config,
                                                         const ImageReference& image);
// How the server of a redirect or of tokens is trusted: by its own entry.
struct RegistryTrust {
  std::string ca_file;
  bool verifies = true, may_be_plain = false;
};
RegistryTrust trust_for(const RegistryConfig& config, const WebUrl& url);

}  // namespace yard
