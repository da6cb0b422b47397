#include "cli/info.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/strings.h"
#include "cli/terminal.h"

namespace yard {

std::optional<double> metric_value(std::string_view metrics, std::string_view name) {
  for (const std::string_view line : split(metrics, '\n')) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') continue;
    const std::string_view number = trim(line.substr(name.size()));
    double value = 0;
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (failed == std::errc() && end == number.data() + number.size()) return value;
  }
  return std::nullopt;
}

std::string info_text(const InfoFacts& facts, bool colour) {
  std::string out;
  const auto add = [&](std::string_view label, std::string_view value) {
    const std::string padded = fmt::format("{:<14}", label);
    out += fmt::format("{}{}\n", colour ? styled(padded, Style::Bold) : padded, value);
  };
  const auto add_number = [&](std::string_view label, std::string_view metric) {
    if (const auto value = metric_value(facts.metrics, metric))
      add(label, fmt::format("{:.0f}", *value));
  };
  add("version", facts.version);
  add("build", facts.build);
  add("state folder", facts.state_folder);
  if (facts.pid == 0) {
    add("server", "down; start it with `trainyard up`");
  } else {
    add("server", fmt::format("{} (pid {})", facts.url, facts.pid));
    if (facts.uptime) add("uptime", human_duration(*facts.uptime));
    if (const auto bytes = metric_value(facts.metrics, "process_resident_memory_bytes")) {
      add("memory", byte_size(static_cast<uint64_t>(*bytes)));
    }
    add_number("objects", "trainyard_store_objects");
    add_number("revision", "trainyard_store_revision");
  }
  for (const auto& [name, bytes] : facts.store_files)
    add(&name == &facts.store_files.front().first ? "store" : "",
        fmt::format("{} ({})", name, byte_size(bytes)));
  for (const std::string& line : facts.images)
    add(&line == &facts.images.front() ? "images" : "", line);
  for (const std::string& sentence : facts.degradations)
    add(&sentence == &facts.degradations.front() ? "degraded" : "", sentence);
  return out;
}

}  // namespace yard
