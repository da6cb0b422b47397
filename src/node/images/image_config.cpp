#include "node/images/image_config.h"

#include <fmt/format.h>

#include "api/core/resources.h"
#include "base/strings.h"
#include "images/registry/reference.h"

namespace yard {
namespace {

using Problem = std::optional<ConfigProblem>;

constexpr std::string_view kEntryKeys =
    "args, entrypoint, env, host, mounts, python, root and workingDir";

std::string expanded(std::string_view text, const HomeOf& home) {
  std::string out;
  if (text == "~" || text.starts_with("~/")) {
    out = home.home;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const size_t at = text.find('$');
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    bool known = false;
    for (const auto& [name, value] :
         {std::pair<std::string_view, const std::string&>{"$HOME", home.home},
          {"$USER", home.user}}) {
      if (!text.starts_with(name) || value.empty()) continue;
      out += value;
      text.remove_prefix(name.size());
      known = true;
      break;
    }
    if (!known) {
      out += '$';
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

Problem read_path(const Json& value, const HomeOf& home, std::vector<std::string> keys,
                  std::string& out) {
  if (!value.is_string()) return ConfigProblem{std::move(keys), "must be an absolute path"};
  out = without_last_slashes(expanded(value.get_string(), home));
  // The parts of a mount are joined with colons nowhere, but overlays and PATH part by them.
  if (!out.starts_with('/') || out.find(':') != std::string::npos)
    return ConfigProblem{std::move(keys), "must be an absolute path without a colon"};
  return std::nullopt;
}

Problem read_env(const Json& value, std::map<std::string, std::string>& out) {
  if (!value.is_object()) return ConfigProblem{{"env"}, "must be a mapping of names to texts"};
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    if (name.empty() || name.find('=') != std::string::npos)
      return ConfigProblem{{"env", name}, "is no name of a variable"};
    if (!member.value().is_string())
      return ConfigProblem{{"env", name}, "must be a text: put it in quotes"};
    out[name] = std::string(member.value().get_string());
  }
  return std::nullopt;
}

Problem read_words(const std::string& key, const Json& value, std::vector<std::string>& out) {
  const ConfigProblem wrong{{key}, "must be a list of texts, as [python, train.py] is"};
  if (!value.is_array() || value.get_array().empty()) return wrong;
  for (const Json& word : value.get_array()) {
    if (!word.is_string()) return wrong;
    out.emplace_back(word.get_string());
  }
  return std::nullopt;
}

// SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro.
Problem read_short_mount(std::string_view text, const HomeOf& home, ImageMount& out) {
  const auto parts = split(text, ':');
  if (parts.size() > 3 || (parts.size() == 3 && parts[2] != "ro"))
    return ConfigProblem{{"mounts"}, "has an entry that is not SOURCE[:TARGET[:ro]]"};
  if (auto problem = read_path(Json(parts[0]), home, {"mounts"}, out.source)) return problem;
  out.target = out.source;
  out.read_only = parts.size() == 3;
  return parts.size() < 2 ? std::nullopt : read_path(Json(parts[1]), home, {"mounts"}, out.target);
}

Problem read_mount(const Json& value, const HomeOf& home, ImageMount& out) {
  if (value.is_string()) return read_short_mount(value.get_string(), home, out);
  if (!value.is_object())
    return ConfigProblem{{"mounts"}, "has an entry that is neither a text nor a mapping"};
  for (const auto& member : value.get_object()) {
    const std::string key(member.key());
    if (key == "source") {
      if (auto problem = read_path(member.value(), home, {"mounts"}, out.source)) return problem;
    } else if (key == "target") {
      if (auto problem = read_path(member.value(), home, {"mounts"}, out.target)) return problem;
    } else if (key == "readOnly" && member.value().is_bool()) {
      out.read_only = member.value().get_bool();
    } else {
      return ConfigProblem{{"mounts"},
                           fmt::format("has an entry with {}; known are source, target and "
                                       "readOnly (true or false)",
                                       quoted(key))};
    }
  }
  if (out.source.empty()) return ConfigProblem{{"mounts"}, "has an entry without a source"};
  if (out.target.empty()) out.target = out.source;
  return std::nullopt;
}

Problem read_mounts(const Json& value, const HomeOf& home, std::vector<ImageMount>& out) {
  if (!value.is_array()) return ConfigProblem{{"mounts"}, "must be a list"};
  for (const Json& item : value.get_array()) {
    out.emplace_back();
    if (auto problem = read_mount(item, home, out.back())) return problem;
  }
  return std::nullopt;
}

Problem read_entry_key(const std::string& key, const Json& value, const HomeOf& home,
                       ImageEntry& out, int& bases) {
  if (key == "root" || key == "python") {
    ++bases;
    out.base = key == "root" ? ImageEntry::Base::Root : ImageEntry::Base::Python;
    return read_path(value, home, {key}, out.folder);
  }
  if (key == "host") {
    ++bases;
    if (value.is_bool() && value.get_bool()) return std::nullopt;
    return ConfigProblem{{key}, "can only be true: the host's own programs"};
  }
  if (key == "env") return read_env(value, out.env);
  if (key == "entrypoint") return read_words(key, value, out.entrypoint);
  if (key == "args") return read_words(key, value, out.args);
  if (key == "mounts") return read_mounts(value, home, out.mounts);
  if (key == "workingDir") return read_path(value, home, {key}, out.working_folder);
  return ConfigProblem{{key},
                       fmt::format("is no part of an image's entry; known are {}", kEntryKeys)};
}

Problem read_map(const Json& value, const HomeOf& home, ImageConfig& out) {
  if (!value.is_object())
    return ConfigProblem{{"map"}, "must be a mapping of image patterns to entries"};
  for (const auto& member : value.get_object()) {
    const std::string written(member.key());
    ImageEntry entry;
    if (auto problem = read_image_entry(member.value(), home, entry)) {
      problem->path.insert(problem->path.begin(), {"map", written});
      return problem;
    }
    out.map.emplace_back(expanded(written, home), std::move(entry));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ConfigProblem> read_image_entry(const Json& tree, const HomeOf& home,
                                              ImageEntry& out) {
  // `pattern: host` is the shortest entry there is.
  if (tree.is_string() && tree.get_string() == "host") return std::nullopt;
  if (!tree.is_object())
    return ConfigProblem{{}, fmt::format("must be `host` or a mapping with {}", kEntryKeys)};
  int bases = 0;
  for (const auto& member : tree.get_object()) {
    if (auto problem = read_entry_key(std::string(member.key()), member.value(), home, out, bases))
      return problem;
  }
  if (bases > 1) return ConfigProblem{{}, "names more than one of host, python and root"};
  return std::nullopt;
}

std::optional<ConfigProblem> read_image_config(const Json& section, const HomeOf& home,
                                               ImageConfig& out) {
  if (section.is_null()) return std::nullopt;
  if (!section.is_object())
    return ConfigProblem{{}, "must be a mapping with fallback, map, prefer and registries"};
  for (const auto& member : section.get_object()) {
    const std::string key(member.key());
    if (key == "map") {
      if (member.value().is_null()) continue;
      if (auto problem = read_map(member.value(), home, out)) return problem;
    } else if (key == "fallback") {
      const std::string_view word =
          member.value().is_string() ? std::string_view(member.value().get_string()) : "";
      if (word != "host" && word != "refuse") return ConfigProblem{{key}, "must be host or refuse"};
      out.fallback = word == "host" ? ImageFallback::Host : ImageFallback::Refuse;
    } else if (key == "registries") {
      if (auto problem = read_registry_config(member.value(), home.home, out.registries)) {
        problem->path.insert(problem->path.begin(), key);
        return ConfigProblem{std::move(problem->path), std::move(problem->words)};
      }
    } else if (key == "sizeLimit") {
      const auto size = Quantity::parse(
          member.value().is_string() ? std::string_view(member.value().get_string()) : "");
      if (!size || size->value() <= 0) return ConfigProblem{{key}, "must be a size, as 50Gi is"};
      out.size_limit = size->value();
    } else if (key == "stores") {
      if (!member.value().is_array())
        return ConfigProblem{{key}, "must be a list of folders; [] for none"};
      out.stores.emplace();
      for (const Json& each : member.value().get_array()) {
        out.stores->emplace_back();
        if (auto problem = read_path(each, home, {key}, out.stores->back())) return problem;
      }
    } else if (key == "prefer") {
      const std::string_view word =
          member.value().is_string() ? std::string_view(member.value().get_string()) : "";
      if (word != "map" && word != "image" && word != "host")
        return ConfigProblem{{key}, "must be map, image or host"};
      out.prefer = word == "image"  ? ImagePrefer::Image
                   : word == "host" ? ImagePrefer::Host
                                    : ImagePrefer::Map;
    } else {
      return ConfigProblem{
          {key},
          "is no setting; known are fallback, map, prefer, registries, sizeLimit and stores"};
    }
  }
  return std::nullopt;
}

bool names_registry_of(const ImageConfig& config, std::string_view image) {
  const auto reference = parse_reference(image);
  const auto& entries = config.registries.entries;
  return reference && (entries.contains(reference->registry) || entries.contains("*"));
}

Json to_json(const ImageEntry& entry) {
  JsonObject out;
  switch (entry.base) {
    case ImageEntry::Base::Host: out["host"] = true; break;
    case ImageEntry::Base::Root: out["root"] = entry.folder; break;
    case ImageEntry::Base::Python: out["python"] = entry.folder; break;
    case ImageEntry::Base::Layers: break;  // never written: the store has it
  }
  if (!entry.working_folder.empty()) out["workingDir"] = entry.working_folder;
  JsonArray mounts;
  for (const ImageMount& mount : entry.mounts)
    mounts.push_back(JsonObject{
        {"source", mount.source}, {"target", mount.target}, {"readOnly", mount.read_only}});
  if (!mounts.empty()) out["mounts"] = std::move(mounts);
  JsonObject env;
  for (const auto& [name, value] : entry.env)
    env[name] = value;
  if (!env.empty()) out["env"] = std::move(env);
  for (const auto& [key, words] :
       {std::pair<const char*, const std::vector<std::string>&>{"entrypoint", entry.entrypoint},
        {"args", entry.args}}) {
    JsonArray list;
    for (const std::string& word : words)
      list.emplace_back(word);
    if (!list.empty()) out[key] = std::move(list);
  }
  return out;
}

std::string shown(const ImageEntry& entry) {
  switch (entry.base) {
    case ImageEntry::Base::Root: return "the root folder " + entry.folder;
    case ImageEntry::Base::Python: return "the Python environment " + entry.folder;
    case ImageEntry::Base::Layers: return "the unpacked image";
    case ImageEntry::Base::Host: break;
  }
  return "the host's own programs";
}

}  // namespace yard
