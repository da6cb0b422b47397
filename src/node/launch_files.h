#pragma once
// The files a shim reads: launch.json once, <container>.<run>.json for each run. Pure.

#include <string>
#include <string_view>

#include "node/cgroups.h"
#include "node/log_layout.h"
#include "node/pod_runtime.h"

namespace yard {

// Where the things of one pod lie.
struct PodFolders {
  std::string run;        // <state>/run/<uid>: what outlives the machine, and what may be large
  std::string logs;       // <state>/logs/<namespace>_<pod>_<uid>
  std::string transient;  // the rest, in memory (node/transient.h), or `run` again
  std::string volume(std::string_view name, LaunchVolume::Type type) const {
    const bool is_large = type == LaunchVolume::Type::Empty;
    return (is_large ? run : transient) + "/volumes/" + std::string(name);
  }
  std::string message(std::string_view container, int number) const {
    return transient + "/messages/" + std::string(container) + "." + std::to_string(number);
  }
  std::string log(std::string_view container, int number) const {
    return logs + "/" + std::string(container) + "/" + std::to_string(number) + ".log";
  }
  // Made by `down`, when it has ended a pod that ran and no server was there to say so.
  std::string shutdown_mark() const { return run + "/shutdown"; }
  std::string container_file(std::string_view container, int number) const {
    return transient + "/" + std::string(container) + "." + std::to_string(number) + ".json";
  }
};

// `boot_id` tells a later server whether the machine has been restarted since.
std::string pod_launch_text(const PodLaunch& launch, const PodFolders& folders,
                            std::string_view boot_id);
std::string container_launch_text(const ContainerLaunch& launch, const PodLaunch& pod,
                                  const PodFolders& folders,
                                  const std::vector<CgroupFolder>& cgroups);

}  // namespace yard
