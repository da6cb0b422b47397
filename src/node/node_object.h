#pragma once
// This machine as a Node object.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/json.h"
#include "node/gpus.h"
#include "node/images/image_catalog.h"
#include "node/images/image_config.h"

namespace yard {

struct NodeOptions {
  std::string name;  // "": the host's name in lower case
  std::string address = "127.0.0.1";
  std::map<std::string, std::string> capacity;  // --capacity: instead of what the machine has
  std::map<std::string, std::string> labels;    // --node-label
  int fake_gpus = 0;                            // --fake-gpus: nvidia.com/gpu without any device
  int64_t pod_pids_limit = 32768;               // --pod-pids-limit: a fork bomb ends in its pod
  std::string network_problem;                  // what pods miss of the network, in a sentence
  bool memory_pressure = false, disk_pressure = false;  // the machine runs short (pressure.h)
  int simulated = 0;  // --simulate: so many nodes sim-0, sim-1 ... in place of this machine
  ImageConfig images;
  std::vector<ImageCatalog::Listed> image_list;  // what the node says it has
  std::uint64_t images_version = 0;
  std::vector<GpuProcess> gpu_outsiders;  // a device each that is not offered (node/gpus.h)
  std::string state_folder;               // where offers of `trainyard run` lie
};

inline constexpr std::string_view kTrainyardVersion = "0.1.0";
// What scheduler/room.cpp tells pods that wait for a device.
inline constexpr std::string_view kGpuOutsiders = "trainyard.dev/gpus-in-use";
inline constexpr std::string_view kSimulatedLabel = "trainyard.dev/simulated";

// What the machine says about itself.
struct MachineFacts {
  std::vector<Gpu> gpus;
  std::string hostname, kernel, os_image, machine_id, boot_id, architecture;
  int64_t cpus = 1, memory_bytes = 0, disk_bytes = 0;
  std::vector<std::string> degradations;  // of the sandbox (node/sandbox_facts.h)
};
MachineFacts read_machine(const std::string& state_folder);

// The nodes whose pods the agent has: this machine, or the simulated ones.
std::vector<std::string> node_names(const NodeOptions& options);
bool is_node_of(const NodeOptions& options, std::string_view name);

// The Node as it should be; `live` is the stored one or null. Its taints, annotations and foreign
// labels stay. Pure.
Json node_object(const NodeOptions& options, const std::string& name, const MachineFacts& machine,
                 const Json& live, Time now);

}  // namespace yard
