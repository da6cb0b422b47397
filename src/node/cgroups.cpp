#include "node/cgroups.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kPeriodMicros = 100'000, kLeastQuotaMicros = 1000, kLeastShares = 2;

std::string own_path(std::string_view cgroup, std::string_view controller) {
  for (const std::string_view line : split(cgroup, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    for (const std::string_view name : split(parts[1], ',')) {
      if (name == controller) return std::string(parts[2]);
    }
  }
  return "";
}

// Mountinfo: id parent major:minor root mount-point options ... - type source super-options
std::string mount_point(std::string_view mountinfo, std::string_view controller) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t dash = line.find(" - cgroup ");
    if (dash == std::string_view::npos) continue;
    const auto after = split(line.substr(dash + 3), ' ');
    if (after.size() < 3) continue;
    for (const std::string_view option : split(after[2], ',')) {
      if (option == controller) return std::string(split(line, ' ')[4]);
    }
  }
  return "";
}

}  // namespace

CgroupRoots own_cgroups(std::string_view cgroup, std::string_view mountinfo) {
  const auto root = [&](std::string_view controller) {
    const std::string at = mount_point(mountinfo, controller), path = own_path(cgroup, controller);
    if (at.empty() || path.empty()) return std::string();
    return path == "/" ? at : at + path;
  };
  return {root("memory"), root("cpu"), root("pids")};
}

std::vector<CgroupFolder> container_cgroups(const CgroupRoots& roots, std::string_view name,
                                            std::string_view pod_uid,
                                            const ContainerLaunch& launch) {
  std::vector<CgroupFolder> out;
  const auto folder = [&](const std::string& root) {
    return fmt::format("{}/{}/{}/{}.{}", root, name, pod_uid, launch.container, launch.run);
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
    const int64_t shares = std::max(kLeastShares, launch.cpu_request_milli * 1024 / 1000);
    cpu.limits.emplace_back("cpu.shares", std::to_string(shares));
    if (launch.cpu_limit_milli) {
      cpu.limits.emplace_back("cpu.cfs_period_us", std::to_string(kPeriodMicros));
      cpu.limits.emplace_back(
          "cpu.cfs_quota_us",
          std::to_string(
              std::max(kLeastQuotaMicros, *launch.cpu_limit_milli * kPeriodMicros / 1000)));
    }
    out.push_back(std::move(cpu));
  }
  if (!roots.pids.empty()) {
    CgroupFolder pids{folder(roots.pids), {}};
    if (launch.processes_limit)
      pids.limits.emplace_back("pids.max", std::to_string(*launch.processes_limit));
    out.push_back(std::move(pids));
  }
  return out;
}

}  // namespace yard
