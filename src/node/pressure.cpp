#include "node/pressure.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"

namespace yard {
namespace {

constexpr int64_t kLeastMemory = int64_t{100} << 20;
// Kubelet's tenth of the disk, but a laptop's is often nine tenths full: this much is enough.
constexpr int64_t kDiskPercent = 10, kInodePercent = 5;
constexpr int64_t kEnoughDisk = int64_t{2} << 30;
constexpr Duration kStays = std::chrono::minutes(5);
// Pods of the system itself are never evicted.
constexpr int64_t kCriticalPriority = 2'000'000'000;

int64_t least_disk(const MachineRoom& room) {
  return std::min(kEnoughDisk, room.disk_total / 100 * kDiskPercent);
}

int64_t least_inodes(const MachineRoom& room) {
  return room.inodes_total / 100 * kInodePercent;
}

bool is_recent(const std::optional<Time>& seen, Time now) {
  return seen && now - *seen < kStays;
}

// As a quantity prints bytes.
std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

int64_t request_of(const Json& container, std::string_view resource) {
  const auto asked = Quantity::parse(text_at(container, {"resources", "requests", resource}, "0"));
  return asked ? asked->value() : 0;
}

struct Rank {
  const PressedPod* claim = nullptr;
  int64_t used = 0, asked = 0, priority = 0;
};

Rank rank_of(const PressedPod& claim, std::string_view resource) {
  Rank out;
  out.claim = &claim;
  out.used = claim.used_beside;
  for (const auto& [container, bytes] : claim.used)
    out.used += bytes;
  for (const Json& container : list_at(*claim.pod, {"spec", "containers"}))
    out.asked += request_of(container, resource);
  out.priority = int_at(*claim.pod, {"spec", "priority"});
  return out;
}

// Those above their request first, of these the least important, of these the greediest.
bool goes_before(const Rank& a, const Rank& b) {
  const auto key = [](const Rank& rank) {
    return std::tuple(rank.used <= rank.asked, rank.priority, rank.asked - rank.used,
                      rank.claim->uid);
  };
  return key(a) < key(b);
}

std::string eviction_message(Shortage shortage, const MachineRoom& room, const PressedPod& claim) {
  const std::string_view resource = resource_of(shortage);
  std::string threshold, available;
  if (shortage == Shortage::Memory) {
    threshold = bytes_text(kLeastMemory);
    available = bytes_text(room.memory_available / 1024 * 1024);
  } else if (shortage == Shortage::Disk) {
    threshold = bytes_text(least_disk(room) / 1024 * 1024);
    available = bytes_text(room.disk_available / 1024 * 1024);
  } else {
    threshold = std::to_string(least_inodes(room));
    available = std::to_string(room.inodes_free);
  }
  std::string out =
      fmt::format("The node was low on resource: {}. Threshold quantity: {}, available: {}. ",
                  resource, threshold, available);
  for (const Json& container : list_at(*claim.pod, {"spec", "containers"})) {
    const std::string name(text_at(container, {"name"}));
    const auto used = claim.used.find(name);
    const int64_t asked = request_of(container, resource);
    if (used == claim.used.end() || used->second <= asked) continue;
    out += fmt::format("Container {} was using {}, request is {}, has larger consumption of {}. ",
                       name, bytes_text(used->second / 1024 * 1024), bytes_text(asked), resource);
  }
  return out;
}

}  // namespace

std::string_view resource_of(Shortage shortage) {
  return shortage == Shortage::Memory   ? "memory"
         : shortage == Shortage::Inodes ? "inodes"
                                        : "ephemeral-storage";
}

bool NodePressure::has_memory(Time now) const {
  return is_recent(memory_seen, now);
}

bool NodePressure::has_disk(Time now) const {
  return is_recent(disk_seen, now);
}

Shortage shortage_of(const MachineRoom& room) {
  if (room.memory_available < kLeastMemory) return Shortage::Memory;
  if (room.disk_total > 0 && room.disk_available < least_disk(room)) return Shortage::Disk;
  if (room.inodes_total > 0 && room.inodes_free < least_inodes(room)) return Shortage::Inodes;
  return Shortage::None;
}

NodePressure next_pressure(const NodePressure& before, const MachineRoom& room, Time now) {
  NodePressure out = before;
  // A clock that was set back must not keep a condition for ever.
  for (std::optional<Time>* seen : {&out.memory_seen, &out.disk_seen}) {
    if (*seen && (**seen > now || !is_recent(*seen, now))) seen->reset();
  }
  if (room.memory_available < kLeastMemory) out.memory_seen = now;
  MachineRoom without_memory = room;
  without_memory.memory_available = kLeastMemory;
  if (shortage_of(without_memory) != Shortage::None) out.disk_seen = now;
  return out;
}

std::optional<PressureEviction> pressure_eviction(Shortage shortage, const MachineRoom& room,
                                                  const std::vector<PressedPod>& pods) {
  std::vector<Rank> ranks;
  for (const PressedPod& claim : pods) {
    Rank rank = rank_of(claim, resource_of(shortage));
    if (rank.priority < kCriticalPriority) ranks.push_back(rank);
  }
  const auto first = std::ranges::min_element(ranks, goes_before);
  if (first == ranks.end()) return std::nullopt;
  return PressureEviction{first->claim->uid, eviction_message(shortage, room, *first->claim)};
}

}  // namespace yard
