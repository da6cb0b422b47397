#pragma once
// The GPUs of this machine and which pod has which. What a pod sees is said by
// CUDA_VISIBLE_DEVICES: its own devices, numbered from 0 by CUDA itself.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";

struct Gpu {
  std::string
      id;  // GPU-8f1c…, as CUDA_VISIBLE_DEVICES takes it; a number for one that is pretended
  std::string name;
  int64_t memory_bytes = 0;
};

// Whether there is a driver at all: costs nothing to ask.
bool has_gpu_driver();
// Through NVML, loaded when it is asked for: the binary starts where there is no driver. May take a
// second; "" in `problem` when all went well.
std::vector<Gpu> discover_gpus(std::string& problem);
std::vector<Gpu> pretended_gpus(int count);

struct GpuProcess {
  std::string gpu;  // its id
  int pid = 0;
  std::string name = {};
  bool operator==(const GpuProcess&) const = default;
};
// The processes that compute on this machine's GPUs and came of none of `ours`. Through NVML; may
// take a second.
using OutsiderSearch = std::function<std::vector<GpuProcess>(const std::vector<int>& ours)>;
std::vector<GpuProcess> gpu_outsiders(const std::vector<int>& ours);
// Which of them came of none of `ours`; `parents` is pid → parent. Pure.
std::vector<GpuProcess> outsiders_among(const std::vector<GpuProcess>& processes,
                                        const std::vector<int>& ours,
                                        const std::map<int, int>& parents);

// How many a pod asks for: its containers together, or its hungriest init container.
int64_t gpus_asked(const Json& pod);
int64_t container_gpus(const Json& container);

// The devices that outsiders compute on and no pod of ours has, with the first of them: nobody is
// sent there. Pure.
std::vector<GpuProcess> gpus_of_outsiders(std::span<const Gpu> all,
                                          const std::set<std::string>& given,
                                          std::span<const GpuProcess> outsiders);
// The same in words, for whoever waits for one: `GPU 0: process 77 (python3), ...`.
std::string outsiders_text(std::span<const GpuProcess> outsiders);

// The first free ones, those of outsiders last; nullopt when there are too few.
std::optional<std::vector<std::string>> pick_gpus(std::span<const Gpu> all,
                                                  const std::set<std::string>& taken,
                                                  std::span<const GpuProcess> outsiders,
                                                  int64_t count);
// Of a pod's devices those of one container: containers take their share in order, init containers
// come before them and may use all.
std::vector<std::string> gpus_of_container(const Json& pod, std::string_view container,
                                           std::span<const std::string> of_pod);
// What CUDA_VISIBLE_DEVICES is to be. `wished` is the container's own value, whose numbers count
// within what it was given; nullopt: it has none.
std::string visible_devices(std::span<const std::string> given,
                            std::optional<std::string_view> wished);

}  // namespace yard
