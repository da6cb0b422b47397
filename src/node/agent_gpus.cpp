// The agent's GPUs: which pod has which, and who else is on them.

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "node/agent.h"

namespace yard {
namespace {

// While somebody is there, and while nobody is: the driver wakes an idle device to answer.
constexpr Duration kLookEvery = std::chrono::seconds(10), kLookSeldom = std::chrono::minutes(1);

}  // namespace

// Taken is what runs or starts: a pod that has ended has given its devices back.
std::set<std::string> Agent::given_gpus() const {
  std::set<std::string> out;
  for (const auto& [uid, pod] : pods_) {
    const PodRecord* record = runtime_.find(uid);
    if (record != nullptr && record->alive) out.insert(record->gpus.begin(), record->gpus.end());
    if (pod.starting) out.insert(pod.gpus.begin(), pod.gpus.end());
  }
  return out;
}

bool Agent::give_gpus(Pod& pod, const Json& tree) {
  pod.gpus.clear();
  const int64_t count = gpus_asked(tree);
  if (count == 0) return true;
  auto picked = pick_gpus(machine_.gpus, given_gpus(), outsiders_, count);
  if (picked) pod.gpus = std::move(*picked);
  return picked.has_value();
}

// Before a pod gets devices, and again and again: a device is not offered while somebody else is
// on it, whether or not a pod asks for one.
void Agent::look_at_gpus(std::function<void()> then) {
  if (!gpu_processes_ || machine_.gpus.empty()) return then();
  std::vector<int> ours;
  for (const std::string& uid : runtime_.pods()) {
    for (const ContainerRun& run : runtime_.find(uid)->runs) {
      if (run.is_running()) ours.push_back(run.pid);
    }
  }
  auto found = std::make_shared<std::vector<GpuProcess>>();
  loop_.run_blocking([found, ask = gpu_processes_, ours = std::move(ours)] { *found = ask(ours); },
                     [this, found, then = std::move(then), alive = alive_] {
                       if (!*alive) return;
                       take_outsiders(std::move(*found));
                       then();
                     });
}

void Agent::take_outsiders(std::vector<GpuProcess> outsiders) {
  outsiders_ = std::move(outsiders);
  auto kept = gpus_of_outsiders(machine_.gpus, given_gpus(), outsiders_);
  if (kept != options_.gpu_outsiders) {
    if (!kept.empty()) log_warning("not offered to pods: {}", outsiders_text(kept));
    options_.gpu_outsiders = std::move(kept);
    if (subscription_ != 0) registration_.write(options_.name);
  }
  if (gpu_timer_ != 0) return;
  gpu_timer_ = loop_.after(options_.gpu_outsiders.empty() ? kLookSeldom : kLookEvery,
                           [this, alive = alive_] {
                             if (!*alive) return;
                             gpu_timer_ = 0;
                             look_at_gpus([] {});
                           });
}

// A program that computes beside a pod explains why it is slow or finds no memory.
void Agent::tell_of_outsiders(const Pod& pod) {
  for (const GpuProcess& process : outsiders_) {
    if (std::ranges::find(pod.gpus, process.gpu) == pod.gpus.end()) continue;
    const std::string text =
        fmt::format("GPU {} is also used by process {} ({}), which belongs to no pod", process.gpu,
                    process.pid, process.name);
    log_warning("{}", text);
    record_for(pod.uid, {EventNote::Type::Warning, "GPUInUse", text, ""});
  }
}

}  // namespace yard
