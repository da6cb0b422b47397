#include "images/registry/registry_config.h"

#include "images/registry/reference.h"
#include "images/registry/registry_endpoint.h"

namespace yard {
namespace {

using Problem = std::optional<RegistryConfigProblem>;

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

}  // namespace yard
