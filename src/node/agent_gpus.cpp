// The agent's GPUs: which pod has which, and who else is on them.

#include <fmt/format.h>

#include "base/log.h"
#include "node/agent.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};

}  // namespace

// Taken is what runs or starts: a pod that has ended has given its devices back.
bool Agent::give_gpus(Pod& pod, const Json& tree) {
  pod.gpus.clear();
  const int64_t count = gpus_asked(tree);
  if (count == 0) return true;
  std::set<std::string> taken;
  for (const auto& [uid, other] : pods_) {
    const PodRecord* record = runtime_.find(uid);
    if (record != nullptr && record->alive) taken.insert(record->gpus.begin(), record->gpus.end());
    if (other.starting) taken.insert(other.gpus.begin(), other.gpus.end());
  }
  auto picked = pick_gpus(machine_.gpus, taken, count);
  if (picked) pod.gpus = std::move(*picked);
  return picked.has_value();
}

// Asked once, when a pod gets its devices: a program that computes there beside it explains why it
// is slow or finds no memory.
void Agent::notice_outsiders(const Pod& pod) {
  if (!gpu_processes_ || pod.gpus.empty()) return;
  std::vector<int> ours;
  for (const std::string& uid : runtime_.pods()) {
    for (const ContainerRun& run : runtime_.find(uid)->runs) {
      if (run.is_running()) ours.push_back(run.pid);
    }
  }
  auto found = std::make_shared<std::vector<GpuProcess>>();
  loop_.run_blocking([found, ask = gpu_processes_, ours = std::move(ours)] { *found = ask(ours); },
                     [this, found, uid = pod.uid, gpus = pod.gpus, alive = alive_] {
                       if (!*alive) return;
                       for (const GpuProcess& process : *found) {
                         if (std::ranges::find(gpus, process.gpu) == gpus.end()) continue;
                         const std::string text = fmt::format(
                             "GPU {} is also used by process {} ({}), which belongs to no pod",
                             process.gpu, process.pid, process.name);
                         log_warning("{}", text);
                         record_for(uid, {EventNote::Type::Warning, "GPUInUse", text, ""});
                       }
                     });
}

}  // namespace yard
