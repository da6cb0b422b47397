#include "main/config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "base/strings.h"
#include "images/local_stores.h"
#include "json/yaml.h"
#include "json/yaml_places.h"

namespace yard {
namespace {

std::string config_home() {
  const char* home = std::getenv("XDG_CONFIG_HOME");
  if (home != nullptr && *home != '\0') return home;
  home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.config";
}

std::optional<std::string> content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

struct ConfigText {
  const std::string& file;
  const std::string& text;
};

// Points at the innermost key of the path.
Error wrong(const ConfigText& config, const std::vector<std::string>& path,
            std::string_view words) {
  const auto place = yaml_place(config.text, path);
  const std::string where =
      place ? fmt::format(", line {}, column {}", place->line, place->column) : "";
  return error(Reason::BadRequest,
               fmt::format("{}{}: {} {}", config.file, where, join(path, "."), words));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<LogLevel> level_named(const ConfigText& config, const Json& value) {
  constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::Debug},
                                                               {"info", LogLevel::Info},
                                                               {"warning", LogLevel::Warning},
                                                               {"error", LogLevel::Error},
                                                               {"off", LogLevel::Off}};
  // YAML 1.1 reads a bare off as false.
  const std::string name = value.is_string()                      ? lower(value.get_string())
                           : value.is_bool() && !value.get_bool() ? "off"
                                                                  : "";
  for (const auto& [word, level] : kLevels) {
    if (name == word) return level;
  }
  return wrong(config, {"logLevel"}, "must be debug, info, warning, error or off");
}

// logs: {retention: 24h, maxSize: 10Gi}
Result<void> read_logs(const ConfigText& source, const Json& value, Config& config) {
  if (!value.is_object())
    return wrong(source, {"logs"}, "must be a mapping, as {retention: 24h} is");
  for (const auto& member : value.get_object()) {
    const std::string key(member.key());
    if (key == "maxSize") {
      const auto size = member.value().is_string()
                            ? Quantity::parse(std::string_view(member.value().get_string()))
                            : Result<Quantity>(error(Reason::Invalid, ""));
      if (!size || size->value() < 0)
        return wrong(source, {"logs", key}, "must be a size, as 10Gi or 500M is");
      config.log_bytes = static_cast<uint64_t>(size->value());
      continue;
    }
    if (key != "retention")
      return wrong(source, {"logs", key},
                   "is no setting; known are logs.retention and logs.maxSize");
    const auto length = member.value().is_string()
                            ? parse_go_duration(std::string_view(member.value().get_string()))
                            : std::nullopt;
    if (!length || *length < Duration{})
      return wrong(source, {"logs", key}, "must be a length of time, as 24h or 30m is");
    config.log_retention = *length;
  }
  return {};
}

// training: {gangRestart: true}
Result<void> read_training(const ConfigText& source, const Json& value, Config& config) {
  if (!value.is_object())
    return wrong(source, {"training"}, "must be a mapping, as {gangRestart: true} is");
  for (const auto& member : value.get_object()) {
    const std::string key(member.key());
    bool* setting = key == "gangRestart"        ? &config.gang_restart
                    : key == "forceDelete"      ? &config.frees_lost_pods
                    : key == "countDisruptions" ? &config.counts_disruptions
                                                : nullptr;
    if (setting == nullptr)
      return wrong(source, {"training", key},
                   "is no setting; known are training.gangRestart, training.forceDelete and "
                   "training.countDisruptions");
    if (!member.value().is_bool()) return wrong(source, {"training", key}, "must be true or false");
    *setting = member.value().get_bool();
  }
  return {};
}

// Where podman and docker keep their images; tests keep those of the machine out.
std::vector<std::string> local_stores() {
  const char* given = std::getenv("TRAINYARD_IMAGE_STORES");
  if (given == nullptr) return usual_local_stores(variable("HOME"), variable("XDG_DATA_HOME"));
  std::vector<std::string> out;
  for (const std::string_view each : split(given, ':'))
    if (each.starts_with('/')) out.emplace_back(each);
  return out;
}

Result<Config> parse_config(const std::string& text, const std::string& file) {
  auto parsed = parse_yaml(text, {}, DuplicateKeys::Refused);
  if (!parsed)
    return error(Reason::BadRequest, fmt::format("{}: {}", file, parsed.error().message));
  Config config;
  if (parsed->empty() || parsed->front().parsed.value.is_null()) return config;
  const Json& tree = parsed->front().parsed.value;
  if (!tree.is_object())
    return error(Reason::BadRequest, fmt::format("{}: a mapping of settings is expected", file));
  const ConfigText source{file, text};
  for (const auto& member : tree.get_object()) {
    const std::string key(member.key());
    const Json& value = member.value();
    if (key == "address") {
      if (!value.is_string() || value.get_string().empty())
        return wrong(source, {key}, "must be an address, as 127.0.0.1 is");
      config.address = std::string(value.get_string());
    } else if (key == "port") {
      const int64_t port = value.is_int64() ? value.get_int64() : -1;
      if (port < 0 || port > 65535) return wrong(source, {key}, "must be a number from 0 to 65535");
      config.port = static_cast<int>(port);
    } else if (key == "logLevel") {
      config.log_level = TRY(level_named(source, value));
    } else if (key == "logs") {
      TRY(read_logs(source, value, config));
    } else if (key == "images") {
      const HomeOf home{variable("HOME"), variable("USER")};
      if (auto problem = read_image_config(value, home, config.images)) {
        problem->path.insert(problem->path.begin(), key);
        return wrong(source, problem->path, problem->words);
      }
    } else if (key == "network") {
      const std::string name = value.is_string() ? std::string(value.get_string()) : "";
      if (name != "island" && name != "shared")
        return wrong(source, {key}, "must be island or shared");
      config.shared_network = name == "shared";
    } else if (key == "requestsPerSecond") {
      const int64_t rate = value.is_int64() ? value.get_int64() : -1;
      if (rate < 1 || rate > 1'000'000)
        return wrong(source, {key}, "must be a number from 1 to 1000000");
      config.requests_per_second = static_cast<int>(rate);
    } else if (key == "training") {
      TRY(read_training(source, value, config));
    } else {
      return wrong(source, {key},
                   "is no setting; known are address, images, logLevel, logs, network, port, "
                   "requestsPerSecond and training");
    }
  }
  return config;
}

}  // namespace

Result<Config> read_config(const StateFolder& folder) {
  std::string file = folder.file("config.yaml");
  auto content = content_of(file);
  if (!content && !config_home().empty()) {
    file = config_home() + "/trainyard/config.yaml";
    content = content_of(file);
  }
  Config config = content ? TRY(parse_config(*content, file)) : Config{};
  if (!config.images.stores) config.images.stores = local_stores();
  return config;
}

}  // namespace yard
