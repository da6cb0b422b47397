#include "node/cgroups.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kPeriodMicros = 100'000, kLeastQuotaMicros = 1000, kLeastShares = 2;
constexpr int64_t kMostShares = 262'144, kMostWeight = 10'000;
constexpr std::array<std::string_view, 3> kWanted = {"cpu", "memory", "pids"};

struct MountedTree {
  std::string root, point;  // which part of the tree, and where
};

std::optional<std::string> own_path(std::string_view cgroup, std::string_view controller) {
  for (const std::string_view line : split(cgroup, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    for (const std::string_view name : split(parts[1], ',')) {
      if (name == controller)
        return std::string(line.substr(parts[0].size() + parts[1].size() + 2));
    }
  }
  return std::nullopt;
}

// Mountinfo: id parent major:minor root mount-point options ... - type source super-options.
// An empty controller asks for the v2 tree.
std::optional<MountedTree> mounted_tree(std::string_view mountinfo, std::string_view controller) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const MountedTree tree{std::string(before[3]), std::string(before[4])};
    if (controller.empty()) {
      if (after[0] == "cgroup2") return tree;
      continue;
    }
    if (after[0] != "cgroup") continue;
    for (const std::string_view option : split(after[2], ',')) {
      if (option == controller) return tree;
    }
  }
  return std::nullopt;
}

std::string own_folder(std::string_view cgroup, const std::optional<MountedTree>& tree,
                       std::string_view controller) {
  const auto path = own_path(cgroup, controller);
  if (!tree || !path || path->starts_with("/..")) return "";  // outside of what is mounted here
  std::string_view below = *path;
  // A container's mount often shows only the part of the tree that is its own.
  if (tree->root != "/" && below.starts_with(tree->root)) below.remove_prefix(tree->root.size());
  return below.empty() || below == "/" ? tree->point : tree->point + std::string(below);
}

int64_t cpu_shares(const ContainerLaunch& launch) {
  return std::clamp(launch.cpu_request_milli * 1024 / 1000, kLeastShares, kMostShares);
}

int64_t cpu_quota(int64_t milli) {
  return std::max(kLeastQuotaMicros, milli * kPeriodMicros / 1000);
}

CgroupFolder unified_group(const CgroupRoots& roots, std::string folder,
                           const ContainerLaunch& launch) {
  CgroupFolder out{std::move(folder), {}, true};
  const auto has = [&](std::string_view controller) {
    return std::ranges::find(roots.controllers, controller) != roots.controllers.end();
  };
  // The group of the state folder hands the controllers on.
  const std::string enable = enabling_text(roots.controllers);
  if (!enable.empty()) out.limits.emplace_back("../cgroup.subtree_control", enable);
  if (has("memory")) {
    // Whoever is chosen, the container ends as one: half a training job is of no use.
    out.limits.emplace_back("memory.oom.group", "1");
    if (launch.memory_limit_bytes)
      out.limits.emplace_back("memory.max", std::to_string(*launch.memory_limit_bytes));
  }
  if (has("cpu")) {
    const int64_t weight =
        1 + (cpu_shares(launch) - kLeastShares) * (kMostWeight - 1) / (kMostShares - kLeastShares);
    out.limits.emplace_back("cpu.weight", std::to_string(weight));
    if (launch.cpu_limit_milli)
      out.limits.emplace_back(
          "cpu.max", fmt::format("{} {}", cpu_quota(*launch.cpu_limit_milli), kPeriodMicros));
  }
  if (has("pids") && launch.processes_limit)
    out.limits.emplace_back("pids.max", std::to_string(*launch.processes_limit));
  return out;
}

}  // namespace

CgroupRoots own_cgroups(std::string_view cgroup, std::string_view mountinfo) {
  CgroupRoots out;
  const auto root = [&](std::string_view controller) {
    return own_folder(cgroup, mounted_tree(mountinfo, controller), controller);
  };
  out.memory = root("memory");
  out.cpu = root("cpu");
  out.pids = root("pids");
  if (!out.memory.empty() || !out.cpu.empty() || !out.pids.empty()) return out;
  const auto tree = mounted_tree(mountinfo, "");
  out.unified = own_folder(cgroup, tree, "");
  if (!out.unified.empty()) out.unified_mount = tree->point;
  return out;
}

std::vector<std::string> unified_candidates(const CgroupRoots& roots) {
  std::vector<std::string> out;
  if (roots.unified.empty()) return out;
  std::string at = roots.unified;
  while (at.size() > roots.unified_mount.size()) {
    out.push_back(at);
    at.erase(at.find_last_of('/'));
  }
  out.push_back(roots.unified_mount);
  return out;
}

std::vector<std::string> wanted_controllers(std::string_view available) {
  std::vector<std::string> out;
  const auto words = split(trim(available), ' ');
  for (const std::string_view name : kWanted) {
    if (std::ranges::find(words, name) != words.end()) out.emplace_back(name);
  }
  return out;
}

std::string enabling_text(const std::vector<std::string>& controllers) {
  std::string out;
  for (const std::string& name : controllers)
    out += (out.empty() ? "+" : " +") + name;
  return out;
}

std::vector<std::string> cgroup_bases(const CgroupRoots& roots, std::string_view name) {
  std::vector<std::string> out;
  for (const std::string& root : {roots.memory, roots.cpu, roots.pids, roots.unified}) {
    if (!root.empty()) out.push_back(fmt::format("{}/{}", root, name));
  }
  return out;
}

std::vector<CgroupFolder> container_cgroups(const CgroupRoots& roots, std::string_view name,
                                            std::string_view pod_uid,
                                            const ContainerLaunch& launch) {
  std::vector<CgroupFolder> out;
  const auto folder = [&](const std::string& root) {
    // Side by side: below a group of its pod a container would compete with that pod's alone.
    return fmt::format("{}/{}/{}.{}.{}", root, name, pod_uid, launch.container, launch.run);
  };
  if (!roots.memory.empty()) {
    CgroupFolder memory{folder(roots.memory), {}};
    if (launch.memory_limit_bytes)
      memory.limits.emplace_back("memory.limit_in_bytes",
                                 std::to_string(*launch.memory_limit_bytes));
    out.push_back(std::move(memory));
  }
  if (!roots.cpu.empty()) {
    CgroupFolder cpu{folder(roots.cpu), {}};
    cpu.limits.emplace_back("cpu.shares", std::to_string(cpu_shares(launch)));
    if (launch.cpu_limit_milli) {
      cpu.limits.emplace_back("cpu.cfs_period_us", std::to_string(kPeriodMicros));
      cpu.limits.emplace_back("cpu.cfs_quota_us",
                              std::to_string(cpu_quota(*launch.cpu_limit_milli)));
    }
    out.push_back(std::move(cpu));
  }
  if (!roots.pids.empty()) {
    CgroupFolder pids{folder(roots.pids), {}};
    if (launch.processes_limit)
      pids.limits.emplace_back("pids.max", std::to_string(*launch.processes_limit));
    out.push_back(std::move(pids));
  }
  if (!roots.unified.empty()) out.push_back(unified_group(roots, folder(roots.unified), launch));
  return out;
}

}  // namespace yard
