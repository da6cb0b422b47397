#include "node/node_object.h"

#include <algorithm>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "api/meta/names.h"
#include "api/tree.h"
#include "base/strings.h"
#include "node/files.h"

namespace yard {
namespace {

constexpr int kMostPods = 1000;
constexpr std::string_view kMemoryTaint = "node.kubernetes.io/memory-pressure",
                           kDiskTaint = "node.kubernetes.io/disk-pressure";
constexpr size_t kMostText = 64 << 10;
const std::string kSimulatedPrefix = "sim-";

std::string os_release_name() {
  const auto text = read_text("/etc/os-release", kMostText).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string_view name = line.substr(12);
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    return std::string(name);
  }
  return "Linux";
}

JsonArray conditions(const NodeOptions& options, const MachineFacts& machine, const Json& live,
                     Time now) {
  struct Row {
    std::string_view type, status, reason, message;
  };
  std::string degraded;
  for (const std::string& sentence : machine.degradations)
    degraded += (degraded.empty() ? "" : "\n") + sentence;
  std::vector<Row> rows{
      options.memory_pressure ? Row{"MemoryPressure", "True", "KubeletHasInsufficientMemory",
                                    "kubelet has insufficient memory available"}
                              : Row{"MemoryPressure", "False", "KubeletHasSufficientMemory",
                                    "kubelet has sufficient memory available"},
      options.disk_pressure
          ? Row{"DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"}
          : Row{"DiskPressure", "False", "KubeletHasNoDiskPressure",
                "kubelet has no disk pressure"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
      {"SandboxDegraded", degraded.empty() ? "False" : "True",
       degraded.empty() ? "SandboxComplete" : "KernelRefuses",
       degraded.empty() ? "pods have all of their sandbox" : std::string_view(degraded)},
      {"Ready", "True", "KubeletReady", "the node agent takes pods"}};
  if (!options.network_problem.empty())
    rows.push_back({"NetworkDegraded", "True", "NotAllIsHere", options.network_problem.c_str()});
  JsonArray out;
  for (const Row& row : rows) {
    std::string changed = rfc3339(now);
    for (const Json& old : list_at(live, {"status", "conditions"})) {
      if (text_at(old, {"type"}) == row.type && text_at(old, {"status"}) == row.status)
        changed = text_at(old, {"lastTransitionTime"}, changed);
    }
    out.push_back(JsonObject{{"type", row.type},
                             {"status", row.status},
                             {"lastHeartbeatTime", rfc3339(now)},
                             {"lastTransitionTime", changed},
                             {"reason", row.reason},
                             {"message", row.message}});
  }
  return out;
}

// As NVIDIA's feature discovery names them, so that nodeSelectors written for a cluster hold here.
void add_gpu_labels(JsonObject& labels, const std::vector<Gpu>& gpus) {
  if (gpus.empty()) return;
  std::string product = gpus.front().name;
  std::ranges::replace(product, ' ', '-');
  labels["nvidia.com/gpu.present"] = "true";
  labels["nvidia.com/gpu.count"] = std::to_string(gpus.size());
  if (label_value_problems(product).empty()) labels["nvidia.com/gpu.product"] = product;
  labels["nvidia.com/gpu.memory"] = std::to_string(gpus.front().memory_bytes >> 20);
}

}  // namespace

MachineFacts read_machine(const std::string& state_folder) {
  MachineFacts out;
  utsname names{};
  if (uname(&names) == 0) {
    out.hostname = names.nodename;
    out.kernel = names.release;
    out.architecture = std::string_view(names.machine) == "x86_64"    ? "amd64"
                       : std::string_view(names.machine) == "aarch64" ? "arm64"
                                                                      : names.machine;
  }
  out.os_image = os_release_name();
  out.machine_id = std::string(trim(read_text("/etc/machine-id", kMostText).value_or("")));
  out.boot_id =
      std::string(trim(read_text("/proc/sys/kernel/random/boot_id", kMostText).value_or("")));
  out.cpus = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0)
    out.memory_bytes = static_cast<int64_t>(memory.totalram) * memory.mem_unit;
  struct statvfs disk {};
  if (statvfs(state_folder.c_str(), &disk) == 0)
    out.disk_bytes = static_cast<int64_t>(disk.f_blocks) * static_cast<int64_t>(disk.f_frsize);
  return out;
}

std::vector<std::string> node_names(const NodeOptions& options) {
  if (options.simulated == 0) return {options.name};
  std::vector<std::string> out;
  for (int i = 0; i < options.simulated; ++i)
    out.push_back(kSimulatedPrefix + std::to_string(i));
  return out;
}

bool is_node_of(const NodeOptions& options, std::string_view name) {
  if (options.simulated == 0) return name == options.name;
  if (!name.starts_with(kSimulatedPrefix)) return false;
  const auto number = parse_int64(name.substr(kSimulatedPrefix.size()));
  return number && *number >= 0 && *number < options.simulated;
}

Json node_object(const NodeOptions& options, const std::string& name, const MachineFacts& machine,
                 const Json& live, Time now) {
  Json out = live.is_object() ? live : Json(JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}});
  JsonObject& root = out.get_object();
  JsonObject& metadata = object_at(root, "metadata");
  metadata["name"] = name;
  JsonObject& labels = object_at(metadata, "labels");
  labels["kubernetes.io/hostname"] = name;
  if (options.simulated > 0) labels[kSimulatedLabel] = "true";
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = machine.architecture;
  if (options.simulated == 0) add_gpu_labels(labels, machine.gpus);
  for (const auto& [key, value] : options.labels)
    labels[key] = value;

  JsonObject capacity{{"cpu", std::to_string(machine.cpus)},
                      {"memory", fmt::format("{}Ki", machine.memory_bytes / 1024)},
                      {"ephemeral-storage", fmt::format("{}Ki", machine.disk_bytes / 1024)},
                      {"pods", std::to_string(kMostPods)}};
  if (!machine.gpus.empty() && options.simulated == 0)
    capacity[kGpuResource] = std::to_string(machine.gpus.size());
  for (const auto& [key, value] : options.capacity)
    capacity[key] = value;

  JsonObject allocatable = capacity;
  JsonObject& annotations = object_at(metadata, "annotations");
  annotations.erase(kGpuOutsiders);
  if (!options.gpu_outsiders.empty() && !options.capacity.contains(std::string(kGpuResource))) {
    allocatable[kGpuResource] = std::to_string(machine.gpus.size() - options.gpu_outsiders.size());
    annotations[kGpuOutsiders] = outsiders_text(options.gpu_outsiders);
  }
  if (annotations.empty()) metadata.erase("annotations");

  // A node that is ready takes pods: the taint of its creation goes.
  JsonArray taints;
  for (const Json& taint : list_at(out, {"spec", "taints"})) {
    const std::string_view key = text_at(taint, {"key"});
    if (key != "node.kubernetes.io/not-ready" && key != kMemoryTaint && key != kDiskTaint)
      taints.push_back(taint);
  }
  for (const auto& [on, key] : {std::pair{options.memory_pressure, kMemoryTaint},
                                std::pair{options.disk_pressure, kDiskTaint}}) {
    if (on) taints.push_back(JsonObject{{"key", key}, {"effect", "NoSchedule"}});
  }
  JsonObject& spec = object_at(root, "spec");
  if (taints.empty()) {
    spec.erase("taints");
  } else {
    spec["taints"] = std::move(taints);
  }
  JsonArray now_true = conditions(options, machine, live, now);
  JsonObject& status = object_at(root, "status");
  status["capacity"] = std::move(capacity);
  status["allocatable"] = std::move(allocatable);
  status["conditions"] = std::move(now_true);
  status["addresses"] = JsonArray{JsonObject{{"type", "InternalIP"}, {"address", options.address}},
                                  JsonObject{{"type", "Hostname"}, {"address", name}}};
  status["daemonEndpoints"] = JsonObject{{"kubeletEndpoint", JsonObject{{"Port", 0}}}};
  constexpr std::size_t kMostImages = 50;  // as upstream
  JsonArray images;
  for (const ImageCatalog::Listed& each : options.image_list) {
    if (images.size() == kMostImages) break;
    images.push_back(JsonObject{{"names", JsonArray(each.names.begin(), each.names.end())},
                                {"sizeBytes", each.bytes}});
  }
  status["images"] = std::move(images);
  status["nodeInfo"] =
      JsonObject{{"machineID", machine.machine_id},
                 {"systemUUID", machine.machine_id},
                 {"bootID", machine.boot_id},
                 {"kernelVersion", machine.kernel},
                 {"osImage", machine.os_image},
                 {"containerRuntimeVersion", fmt::format("trainyard://{}", kTrainyardVersion)},
                 {"kubeletVersion", "v1.34.0+trainyard"},
                 {"kubeProxyVersion", ""},
                 {"operatingSystem", "linux"},
                 {"architecture", machine.architecture}};
  return out;
}

}  // namespace yard
