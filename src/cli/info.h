#pragma once
// info: what a control plane says of itself.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace yard {

// The value of a sample without labels in Prometheus' text format; nullopt when it is not there.
std::optional<double> metric_value(std::string_view metrics, std::string_view name);

struct InfoFacts {
  std::string version, build, state_folder;
  int pid = 0;  // 0: down, and nothing below but the files is known
  std::string url;
  std::optional<Duration> uptime;
  std::string metrics;
  std::vector<std::pair<std::string, uint64_t>> store_files;  // name, bytes
  std::vector<std::string> images = {};   // the map and what happens to images not in it
  std::vector<std::string> degradations;  // what does not work here, a sentence each
};
std::string info_text(const InfoFacts& facts, bool colour = false);

}  // namespace yard
