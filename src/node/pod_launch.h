#pragma once
// From a pod's YAML to what the runtime is told. Pure: objects come through a lookup.

#include "node/environment.h"
#include "node/images/driver_files.h"
#include "node/images/resolve_image.h"
#include "node/network/pod_network.h"
#include "node/pod_runtime.h"

namespace yard {

// What a launch needs to know of the node.
struct LaunchFacts {
  PodFactsForEnv env;
  std::string node_name;  // the pod may not say it yet
  NetworkFacts network;
  std::vector<Json> services;       // of the pod's namespace, but for the API server's own
  int64_t memory_bytes = 0;         // of the machine
  int64_t cpus = 1;                 // likewise
  int64_t processes_limit = 32768;  // of a container
  ImageResolution image;            // of the container to be launched
  // Those of the pod; nullopt where the machine has none, so nothing has to be hidden.
  std::optional<std::vector<std::string>> gpus;
  // The driver's own libraries and programs, for images built without them.
  std::vector<DriverFile> driver_files;
  // The text of a profile of system calls by its name (node/seccomp_profile.h).
  std::function<Result<std::string>(std::string_view name)> system_call_profile;
};

// Errors are the texts of FailedMount.
Result<PodLaunch> pod_launch(const Json& pod, const LaunchFacts& facts);

// Why a container cannot be started: a waiting reason and its message.
struct LaunchRefusal {
  std::string reason, message;
};
struct ContainerLaunchResult {
  ContainerLaunch launch;
  std::optional<LaunchRefusal> refusal;
};
ContainerLaunchResult container_launch(const Json& pod, const Json& container, int run,
                                       const LaunchFacts& facts);

std::string pod_hostname(const Json& pod);

}  // namespace yard
