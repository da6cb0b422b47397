#pragma once
// What a person wrote into config.yaml: defaults for the server's flags, read when it starts.

#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "main/state_folder.h"
#include "node/images/image_config.h"

namespace yard {

struct Config {
  std::optional<std::string> address;
  std::optional<int> port;
  std::optional<LogLevel> log_level;
  std::optional<Duration> log_retention;  // logs.retention: of pods whose job is gone
  std::optional<uint64_t> log_bytes;      // logs.maxSize: of all pods that are gone, together
  ImageConfig images;
  std::optional<int>
      requests_per_second;          // of one user who is no administrator; twice that at once
  bool shared_network = false;      // network: shared
  bool gang_restart = false;        // training.gangRestart: of jobs that do not say it themselves
  bool frees_lost_pods = true;      // training.forceDelete: training pods of lost nodes
  bool counts_disruptions = false;  // training.countDisruptions: against backoffLimit
};

// <state>/config.yaml, else $XDG_CONFIG_HOME/trainyard/config.yaml, else none. Unknown keys are
// errors: a misspelt one would else be obeyed in silence.
Result<Config> read_config(const StateFolder& folder);

}  // namespace yard
