#include "images/registry/registry_endpoint.h"

#include <fmt/format.h>

namespace yard {
namespace {

std::string host_and_port(const WebUrl& url) {
  const bool is_v6 = url.host.find(':') != std::string::npos;
  std::string out = is_v6 ? fmt::format("[{}]", url.host) : url.host;
  if (url.port != (url.is_tls ? 443 : 80)) out += fmt::format(":{}", url.port);
  return out;
}

const RegistryEntry* entry_of(const RegistryConfig& config, const std::string& registry) {
  const auto found = config.entries.find(registry);
  return found == config.entries.end() ? nullptr : &found->second;
}

RegistryEndpoint own_endpoint(const RegistryEntry* entry, const ImageReference& image, WebUrl url) {
  RegistryEndpoint out;
  out.base = std::move(url);
  out.name = image.registry;
  out.login_name = image.name();
  out.repository = image.repository;
  if (entry) {
    out.ca_file = entry->ca_file;
    out.verifies = !entry->is_insecure;
  }
  return out;
}

}  // namespace

Result<MirrorAddress> mirror_address(std::string_view text) {
  MirrorAddress out;
  out.says_scheme = text.find("://") != std::string_view::npos;
  out.url = TRY(parse_url(out.says_scheme ? std::string(text) : fmt::format("https://{}", text)));
  if (out.url.target.find('?') != std::string::npos)
    return error(Reason::Invalid, "a mirror's address has no query");
  if (!out.url.target.ends_with('/')) out.url.target += '/';
  return out;
}

Result<std::vector<RegistryEndpoint>> registry_endpoints(const RegistryConfig& config,
                                                         const ImageReference& image) {
  const RegistryEntry* entry = entry_of(config, image.registry);
  if (!entry) entry = entry_of(config, "*");
  std::vector<RegistryEndpoint> out;
  for (const std::string& mirror : entry ? entry->mirrors : std::vector<std::string>{}) {
    MirrorAddress address = TRY(mirror_address(mirror));
    RegistryEndpoint endpoint;
    endpoint.is_mirror = true;
    endpoint.repository = address.url.target.substr(1) + image.repository;
    address.url.target = "/";
    endpoint.name = host_and_port(address.url);
    endpoint.login_name = endpoint.name + '/' + endpoint.repository;
    if (const RegistryEntry* own = entry_of(config, endpoint.name)) {
      endpoint.ca_file = own->ca_file;
      endpoint.verifies = !own->is_insecure;
      if (own->is_plain && !address.says_scheme) {
        address.url.is_tls = false;
        if (address.url.port == 443) address.url.port = 80;
      }
    }
    endpoint.base = std::move(address.url);
    out.push_back(std::move(endpoint));
  }
  const bool is_plain = entry && entry->is_plain;
  const std::string host =
      image.registry == kDefaultRegistry ? default_registry_host() : image.registry;
  WebUrl url = TRY(parse_url(fmt::format("{}://{}", is_plain ? "http" : "https", host)));
  out.push_back(own_endpoint(entry, image, std::move(url)));
  return out;
}

RegistryTrust trust_for(const RegistryConfig& config, const WebUrl& url) {
  const RegistryEntry* entry = entry_of(config, host_and_port(url));
  if (!entry) entry = entry_of(config, "*");
  if (!entry) return {};
  return {entry->ca_file, !entry->is_insecure, entry->is_plain};
}

}  // namespace yard
