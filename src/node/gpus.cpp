#include "node/gpus.h"

#include <algorithm>
#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/usage.h"

namespace yard {
namespace {

// NVML's functions as its documentation gives them; a device is an opaque pointer.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kNvmlSuccess = 0;
constexpr unsigned kMostText = 96;
constexpr unsigned kMostGpus = 1024, kMostProcesses = 256;
constexpr int kMostAncestors = 1000;
constexpr size_t kMostStat = 4096;
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  ~Nvml() {
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  bool is_loaded() const { return library_ != nullptr; }

  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr && function(arguments...) == kNvmlSuccess;
  }

 private:
  void* library_;
};

Gpu describe(const Nvml& nvml, NvmlDevice device) {
  Gpu out;
  char text[kMostText] = {};
  if (nvml.call("nvmlDeviceGetUUID", device, static_cast<char*>(text), kMostText)) out.id = text;
  if (nvml.call("nvmlDeviceGetName", device, static_cast<char*>(text), kMostText)) out.name = text;
  NvmlMemory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory))
    out.memory_bytes = static_cast<int64_t>(memory.total);
  return out;
}

}  // namespace

bool has_gpu_driver() {
  return access("/dev/nvidiactl", F_OK) == 0;
}

std::vector<Gpu> discover_gpus(std::string& problem) {
  std::vector<Gpu> out;
  const Nvml nvml;
  if (!nvml.is_loaded()) {
    problem = "the NVIDIA driver's libnvidia-ml.so.1 cannot be loaded";
    return out;
  }
  if (!nvml.call("nvmlInit_v2")) {
    problem = "NVML does not start: nvidia-smi says more";
    return out;
  }
  unsigned count = 0;
  if (!nvml.call("nvmlDeviceGetCount_v2", &count)) problem = "NVML does not count its devices";
  for (unsigned index = 0; index < std::min(count, kMostGpus); ++index) {
    NvmlDevice device = nullptr;
    if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device)) continue;
    Gpu gpu = describe(nvml, device);
    if (!gpu.id.empty()) out.push_back(std::move(gpu));
  }
  nvml.call("nvmlShutdown");
  return out;
}

std::vector<GpuProcess> outsiders_among(const std::vector<GpuProcess>& processes,
                                        const std::vector<int>& ours,
                                        const std::map<int, int>& parents) {
  const std::set<int> roots(ours.begin(), ours.end());
  std::vector<GpuProcess> out;
  for (const GpuProcess& process : processes) {
    int at = process.pid;
    for (int steps = 0; at > 1 && !roots.contains(at) && steps < kMostAncestors; ++steps) {
      const auto found = parents.find(at);
      at = found == parents.end() ? 0 : found->second;
    }
    if (!roots.contains(at)) out.push_back(process);
  }
  return out;
}

std::vector<GpuProcess> gpu_outsiders(const std::vector<int>& ours) {
  std::vector<GpuProcess> processes;
  const Nvml nvml;
  if (!nvml.is_loaded() || !nvml.call("nvmlInit_v2")) return processes;
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned index = 0; index < std::min(count, kMostGpus); ++index) {
    NvmlDevice device = nullptr;
    if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device)) continue;
    const Gpu gpu = describe(nvml, device);
    std::vector<NvmlProcess> running(kMostProcesses);
    auto there = static_cast<unsigned>(running.size());
    if (!nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &there, running.data()))
      continue;
    for (unsigned each = 0; each < std::min<unsigned>(there, kMostProcesses); ++each)
      processes.push_back({gpu.id, static_cast<int>(running[each].pid)});
  }
  nvml.call("nvmlShutdown");
  std::map<int, int> parents;
  for (const GpuProcess& process : processes) {
    for (int at = process.pid; at > 1 && !parents.contains(at);) {
      const std::string folder = "/proc/" + std::to_string(at);
      const int parent =
          process_facts_in(read_text(folder + "/stat", kMostStat).value_or("")).parent;
      parents[at] = parent;
      at = parent;
    }
  }
  std::vector<GpuProcess> out = outsiders_among(processes, ours, parents);
  for (GpuProcess& process : out) {
    const auto name = read_text("/proc/" + std::to_string(process.pid) + "/comm", kMostStat);
    process.name = name ? std::string(trim(*name)) : "of another namespace";
  }
  return out;
}

std::vector<Gpu> pretended_gpus(int count) {
  std::vector<Gpu> out;
  for (int index = 0; index < count; ++index)
    out.push_back({std::to_string(index), "pretended", 0});
  return out;
}

int64_t container_gpus(const Json& container) {
  const Json* limit = find_path(container, {"resources", "limits", kGpuResource});
  if (limit == nullptr) return 0;
  const std::string text = limit->is_string() ? std::string(limit->get_string()) : to_text(*limit);
  const auto amount = Quantity::parse(text);
  return amount ? std::max<int64_t>(0, amount->value()) : 0;
}

int64_t gpus_asked(const Json& pod) {
  int64_t together = 0, hungriest = 0;
  for (const Json& container : list_at(pod, {"spec", "containers"}))
    together += container_gpus(container);
  for (const Json& container : list_at(pod, {"spec", "initContainers"}))
    hungriest = std::max(hungriest, container_gpus(container));
  return std::max(together, hungriest);
}

std::vector<GpuProcess> gpus_of_outsiders(std::span<const Gpu> all,
                                          const std::set<std::string>& given,
                                          std::span<const GpuProcess> outsiders) {
  std::vector<GpuProcess> out;
  for (const Gpu& gpu : all) {
    const auto found = std::ranges::find(outsiders, gpu.id, &GpuProcess::gpu);
    if (found != outsiders.end() && !given.contains(gpu.id)) out.push_back(*found);
  }
  return out;
}

std::string outsiders_text(std::span<const GpuProcess> outsiders) {
  std::vector<std::string> out;
  for (const GpuProcess& each : outsiders)
    out.push_back(fmt::format("GPU {}: process {} ({})", each.gpu, each.pid, each.name));
  return join(out, ", ");
}

std::optional<std::vector<std::string>> pick_gpus(std::span<const Gpu> all,
                                                  const std::set<std::string>& taken,
                                                  std::span<const GpuProcess> outsiders,
                                                  int64_t count) {
  std::vector<std::string> out;
  const auto take = [&](bool shared) {
    for (const Gpu& gpu : all) {
      if (static_cast<int64_t>(out.size()) == count) return;
      const bool is_shared =
          std::ranges::find(outsiders, gpu.id, &GpuProcess::gpu) != outsiders.end();
      if (is_shared == shared && !taken.contains(gpu.id)) out.push_back(gpu.id);
    }
  };
  take(false);
  take(true);
  if (static_cast<int64_t>(out.size()) < count) return std::nullopt;
  return out;
}

std::vector<std::string> gpus_of_container(const Json& pod, std::string_view container,
                                           std::span<const std::string> of_pod) {
  const auto slice = [&](size_t from, int64_t count) {
    from = std::min(from, of_pod.size());
    const size_t size = std::min(static_cast<size_t>(count), of_pod.size() - from);
    return std::vector<std::string>(of_pod.begin() + static_cast<std::ptrdiff_t>(from),
                                    of_pod.begin() + static_cast<std::ptrdiff_t>(from + size));
  };
  for (const Json& each : list_at(pod, {"spec", "initContainers"})) {
    if (text_at(each, {"name"}) == container) return slice(0, container_gpus(each));
  }
  size_t from = 0;
  for (const Json& each : list_at(pod, {"spec", "containers"})) {
    const int64_t count = container_gpus(each);
    if (text_at(each, {"name"}) == container) return slice(from, count);
    from += static_cast<size_t>(count);
  }
  return {};
}

std::string visible_devices(std::span<const std::string> given,
                            std::optional<std::string_view> wished) {
  if (!wished) return join(std::vector<std::string>(given.begin(), given.end()), ",");
  std::vector<std::string> out;
  for (const std::string_view word : split(*wished, ',')) {
    const auto number = parse_int64(trim(word));
    // As CUDA does: what comes after one that is not there is not seen either.
    if (!number || *number < 0 || *number >= static_cast<int64_t>(given.size())) break;
    out.push_back(given[static_cast<size_t>(*number)]);
  }
  return join(out, ",");
}

}  // namespace yard
