#include "images/registry/registry_config.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

using Problem = std::optional<RegistryConfigProblem>;

struct MirrorAddress {
  WebUrl url;
  bool says_scheme = false;
};

Result<MirrorAddress> mirror_address(std::string_view text) {
  MirrorAddress out;
  out.says_scheme = text.find("://") != std::string_view::npos;
  out.url = TRY(parse_url(out.says_scheme ? std::string(text) : fmt::format("https://{}", text)));
  if (out.url.target.find('?') != std::string::npos)
    return error(Reason::Invalid, "a mirror's address has no query");
  if (!out.url.target.ends_with('/')) out.url.target += '/';
  return out;
}

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

bool is_registry_name(const std::string& text) {
  auto parsed = parse_reference(text + "/a/b");
  return parsed && parsed->registry == text;
}

Problem read_mirrors(const Json& value, RegistryEntry& out) {
  if (!value.is_array() || value.get_array().size() > 16)
    return RegistryConfigProblem{{"mirrors"}, "must be a list of at most 16 addresses"};
  for (const Json& item : value.get_array()) {
    const std::string text = item.is_string() ? std::string(item.get_string()) : "";
    if (text.empty() || !mirror_address(text))
      return RegistryConfigProblem{{"mirrors"},
                                   "has an entry that is no [http[s]://]HOST[:PORT][/PREFIX]"};
    out.mirrors.push_back(text);
  }
  return std::nullopt;
}

Problem read_entry(const Json& tree, std::string_view home, RegistryEntry& out) {
  if (!tree.is_object())
    return RegistryConfigProblem{{}, "must be a mapping with ca, insecure, mirrors and plainHttp"};
  for (const auto& member : tree.get_object()) {
    const std::string key(member.key());
    const Json& value = member.value();
    if (key == "mirrors") {
      if (auto problem = read_mirrors(value, out)) return problem;
    } else if (key == "insecure" || key == "plainHttp") {
      if (!value.is_bool()) return RegistryConfigProblem{{key}, "must be true or false"};
      (key == "insecure" ? out.is_insecure : out.is_plain) = value.get_bool();
    } else if (key == "ca") {
      std::string path = value.is_string() ? std::string(value.get_string()) : "";
      if (path.starts_with("~/")) path.replace(0, 1, home);
      if (!path.starts_with('/'))
        return RegistryConfigProblem{{key}, "must be the absolute path of a PEM file"};
      out.ca_file = path;
    } else {
      return RegistryConfigProblem{
          {key}, "is no setting of a registry; known are ca, insecure, mirrors and plainHttp"};
    }
  }
  return std::nullopt;
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

std::optional<RegistryConfigProblem> read_registry_config(const Json& section,
                                                          std::string_view home,
                                                          RegistryConfig& out) {
  if (section.is_null()) return std::nullopt;
  if (!section.is_object())
    return RegistryConfigProblem{{}, "must be a mapping of registries to their settings"};
  for (const auto& member : section.get_object()) {
    const std::string name(member.key());
    if (name != "*" && !is_registry_name(name))
      return RegistryConfigProblem{{name}, "is no registry as images name it, HOST[:PORT]"};
    if (auto problem = read_entry(member.value(), home, out.entries[name])) {
      problem->path.insert(problem->path.begin(), name);
      return problem;
    }
  }
  return std::nullopt;
}

Json to_json(const RegistryConfig& config) {
  JsonObject out;
  for (const auto& [name, entry] : config.entries) {
    JsonObject settings;
    JsonArray mirrors;
    for (const std::string& mirror : entry.mirrors)
      mirrors.emplace_back(mirror);
    if (!mirrors.empty()) settings["mirrors"] = std::move(mirrors);
    if (entry.is_insecure) settings["insecure"] = true;
    if (entry.is_plain) settings["plainHttp"] = true;
    if (!entry.ca_file.empty()) settings["ca"] = entry.ca_file;
    out[name] = std::move(settings);
  }
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
