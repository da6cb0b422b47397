#include "main/config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/yaml.h"

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

Error wrong(const std::string& file, std::string_view key, std::string_view wanted) {
  return error(Reason::BadRequest, fmt::format("{}: {} must be {}", file, key, wanted));
}

Result<LogLevel> level_named(const std::string& file, const Json& value) {
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
  return wrong(file, "logLevel", "debug, info, warning, error or off");
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
  for (const auto& member : tree.get_object()) {
    const std::string_view key = member.key();
    const Json& value = member.value();
    if (key == "address") {
      if (!value.is_string() || value.get_string().empty())
        return wrong(file, key, "an address, as 127.0.0.1 is");
      config.address = std::string(value.get_string());
    } else if (key == "port") {
      const int64_t port = value.is_int64() ? value.get_int64() : -1;
      if (port < 0 || port > 65535) return wrong(file, key, "a number from 0 to 65535");
      config.port = static_cast<int>(port);
    } else if (key == "logLevel") {
      config.log_level = TRY(level_named(file, value));
    } else if (key == "network") {
      const std::string name = value.is_string() ? std::string(value.get_string()) : "";
      if (name != "island" && name != "shared") return wrong(file, key, "island or shared");
      config.shared_network = name == "shared";
    } else {
      return error(Reason::BadRequest,
                   fmt::format("{}: there is no setting {}; known are address, logLevel, network and port",
                               file, quoted(key)));
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
  return content ? parse_config(*content, file) : Config{};
}

}  // namespace yard
