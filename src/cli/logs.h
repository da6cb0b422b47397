#pragma once
// logs: what the containers of an object have written, merged over its pods; also of pods that are
// gone, from the archive.

#include <functional>
#include <string>
#include <vector>

#include "cli/follow.h"

namespace yard {

struct LogsRequest {
  std::vector<std::string> words;
  std::string name_space = "default";
  bool follow = false, previous = false, timestamps = false;
  std::string tail;       // lines of each container
  std::string container;  // "": all
};

// A log of a pod that is gone, as the archive has it.
struct ArchivedLog {
  std::string pod, container;
  std::string text;  // lines with a time each, as the log endpoint gives them with timestamps
};
// The archive of one object or pod, by namespace and name; empty where there is none.
using ArchiveLookup =
    std::function<std::vector<ArchivedLog>(const std::string& name_space, const std::string& name)>;

int run_logs(Session& session, const LogsRequest& request, const FollowWorld& world,
             const ArchiveLookup& archive);

// Lines with a time each, of several containers, in the order they were written. Pure.
struct LogText {
  std::string rank;
  std::string text;
};
struct MergeLook {
  bool with_rank = true, with_time = false, colour = false;
};
std::string merged_logs(const std::vector<LogText>& logs, const MergeLook& look);

}  // namespace yard
