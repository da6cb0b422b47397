#pragma once
// When the machine itself runs short of memory or disk: which conditions its Node has, and which
// pod has to go, ranked as kubelet ranks (kubernetes-core C18). Pure.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/json.h"

namespace yard {

// What is left of the machine.
struct MachineRoom {
  int64_t memory_available = 0;
  int64_t disk_available = 0, disk_total = 0;  // of the state folder's filesystem
  int64_t inodes_free = 0, inodes_total = 0;   // 0 in all: it does not count them
};

// As the Node shows it. A condition stays for five minutes after the last sign of it, so that it
// does not come and go.
struct NodePressure {
  std::optional<Time> memory_seen, disk_seen;
  bool has_memory(Time now) const;
  bool has_disk(Time now) const;
};

enum class Shortage { None, Memory, Disk, Inodes };
Shortage shortage_of(const MachineRoom& room);
NodePressure next_pressure(const NodePressure& before, const MachineRoom& room, Time now);

// What one pod uses of what is short.
struct PressedPod {
  std::string uid;
  const Json* pod = nullptr;
  std::map<std::string, int64_t> used;  // by container; bytes
  int64_t used_beside = 0;              // of the pod as a whole: emptyDirs
};
// The uid of the pod to evict, and the words for it; nullopt: none may be.
struct PressureEviction {
  std::string uid, message;
};
std::optional<PressureEviction> pressure_eviction(Shortage shortage, const MachineRoom& room,
                                                  const std::vector<PressedPod>& pods);

std::string_view resource_of(Shortage shortage);  // memory, ephemeral-storage, inodes

}  // namespace yard
