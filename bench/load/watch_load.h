#pragma once
// Many watchers of one namespace, and a writer at a steady rate: how late and how dearly events
// arrive.

#include <string>
#include <vector>

#include "base/result.h"
#include "load/connection.h"

namespace yard::bench {

struct WatchLoad {
  size_t watchers = 1000;
  double writes_per_second = 10;
  double seconds = 10;
  std::string ns;
  std::vector<int> server_pids;
};

// Handshakes and the opening of the watches are over before the measure begins. The report is one
// JSON object; an event's latency runs from the sending of the PATCH to its arrival at one watcher.
Result<std::string> run_watch_load(const Target& target, const WatchLoad& load);

}  // namespace yard::bench
