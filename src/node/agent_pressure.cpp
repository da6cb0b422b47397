// The agent's look at the machine: while pods run, or a condition is on, every ten seconds.

#include <sys/statvfs.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "node/agent.h"
#include "node/files.h"
#include "node/usage.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"};
constexpr Duration kLookEvery = std::chrono::seconds(10);
constexpr size_t kMostText = 64 << 10;

}  // namespace

MachineRoom read_room(const std::string& state_folder) {
  MachineRoom out;
  out.memory_available =
      value_in(read_text("/proc/meminfo", kMostText).value_or(""), "MemAvailable") * 1024;
  struct statvfs disk {};
  if (statvfs(state_folder.c_str(), &disk) == 0) {
    out.disk_available = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
    out.disk_total = static_cast<int64_t>(disk.f_blocks) * static_cast<int64_t>(disk.f_frsize);
    out.inodes_free = static_cast<int64_t>(disk.f_favail);
    out.inodes_total = static_cast<int64_t>(disk.f_files);
  }
  return out;
}

void Agent::set_meter(std::function<MachineRoom()> room, UsageSource* usage) {
  read_room_ = std::move(room);
  usage_ = usage;
}

// Nobody is looked after where nothing runs.
void Agent::watch_pressure() {
  if (!read_room_ || pressure_timer_ != 0 || looks_at_room_) return;
  if (runtime_.pods().empty() && !pressure_.memory_seen && !pressure_.disk_seen) return;
  pressure_timer_ = loop_.after(kLookEvery, [this, alive = alive_] {
    if (!*alive) return;
    pressure_timer_ = 0;
    look_at_room();
  });
}

void Agent::look_at_room() {
  looks_at_room_ = true;
  auto room = std::make_shared<MachineRoom>();
  loop_.run_blocking([room, read = read_room_] { *room = read(); },
                     [this, room, alive = alive_] {
                       if (!*alive) return;
                       looks_at_room_ = false;
                       take_room(*room);
                       watch_pressure();
                     });
}

void Agent::take_room(const MachineRoom& room) {
  const Time now = loop_.now();
  const NodePressure before = std::exchange(pressure_, next_pressure(pressure_, room, now));
  const bool had_memory = before.memory_seen.has_value(), had_disk = before.disk_seen.has_value();
  const bool memory = pressure_.memory_seen.has_value(), disk = pressure_.disk_seen.has_value();
  if (memory != had_memory || disk != had_disk) {
    options_.memory_pressure = memory;
    options_.disk_pressure = disk;
    registration_.write(options_.name);
    if (const ObjectPtr node = client_.get(kNode, "", options_.name)) {
      const auto say = [&](const char* what) {
        events_.record(node->tree(),
                       {EventNote::Type::Normal, what,
                        fmt::format("Node {} status is now: {}", options_.name, what)});
      };
      if (memory != had_memory)
        say(memory ? "NodeHasInsufficientMemory" : "NodeHasSufficientMemory");
      if (disk != had_disk) say(disk ? "NodeHasDiskPressure" : "NodeHasNoDiskPressure");
    }
  }
  if (const Shortage shortage = shortage_of(room); shortage != Shortage::None)
    make_room(shortage, room);
}

// One pod a look: what it gives back shows in the next.
void Agent::make_room(Shortage shortage, const MachineRoom& room) {
  std::vector<std::string> candidates;
  for (const auto& [uid, pod] : pods_) {
    const PodRecord* record = runtime_.find(uid);
    if (record == nullptr || !record->alive || unbound_.contains(uid)) continue;
    if (pod.eviction) return;  // one is on its way out
    candidates.push_back(uid);
  }
  if (candidates.empty()) return;
  log_warning("the machine is low on {}: a pod is evicted", resource_of(shortage));
  if (shortage == Shortage::Memory) {
    if (usage_ == nullptr) return;
    usage_->measure([this, shortage, room, alive = alive_](const UsageReport& report) {
      if (!*alive) return;
      std::map<std::string, PodUsage> used;
      for (const auto& [uid, containers] : report.pods) {
        for (const auto& [name, use] : containers)
          used[uid].containers[name] = static_cast<uint64_t>(use.memory_bytes);
      }
      evict_for(shortage, room, used);
    });
    return;
  }
  auto used = std::make_shared<std::map<std::string, PodUsage>>();
  auto left = std::make_shared<size_t>(candidates.size());
  for (const std::string& uid : candidates) {
    runtime_.measure(
        uid, [this, uid, shortage, room, used, left, alive = alive_](const PodUsage& usage) {
          if (!*alive) return;
          (*used)[uid] = usage;
          if (--*left == 0) evict_for(shortage, room, *used);
        });
  }
}

void Agent::evict_for(Shortage shortage, const MachineRoom& room,
                      const std::map<std::string, PodUsage>& used) {
  std::vector<Json> trees;
  std::vector<PressedPod> claims;
  trees.reserve(used.size());
  for (const auto& [uid, usage] : used) {
    const auto pod = pods_.find(uid);
    const PodRecord* record = runtime_.find(uid);
    if (pod == pods_.end() || pod->second.eviction || record == nullptr || !record->alive) continue;
    const ObjectPtr object = client_.get(kPod, pod->second.ns, pod->second.name);
    if (object == nullptr || object->uid() != uid) continue;
    trees.push_back(object->tree());
    PressedPod claim;
    claim.uid = uid;
    claim.pod = &trees.back();
    for (const auto& [name, bytes] : usage.containers)
      claim.used[name] = static_cast<int64_t>(bytes);
    for (const auto& [name, bytes] : usage.volumes)
      claim.used_beside += static_cast<int64_t>(bytes);
    claims.push_back(std::move(claim));
  }
  const auto gone = pressure_eviction(shortage, room, claims);
  if (!gone) return;
  record_for(gone->uid, {EventNote::Type::Warning, "Evicted", gone->message, ""});
  pods_.at(gone->uid).eviction = Eviction{gone->message, loop_.now(), true};
  sync(gone->uid);
}

}  // namespace yard
