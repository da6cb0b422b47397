#include "node/launch_files.h"

#include <algorithm>

#include "json/json.h"

namespace yard {
namespace {

// What a pod sees of the host's own files, read-only.
constexpr const char* kHostFolders[] = {"/usr",   "/bin",    "/sbin", "/lib", "/lib32",
                                        "/lib64", "/libx32", "/opt",  "/etc", "/srv"};

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray out;
  for (const std::string& text : list)
    out.emplace_back(text);
  return out;
}

JsonObject mount(std::string source, std::string_view target) {
  return {{"source", std::move(source)},
          {"target", target},
          {"subPath", ""},
          {"readOnly", false},
          {"recursive", false},
          {"recursivelyReadOnly", false},
          {"propagation", ""}};
}

const char* propagation_text(MountPropagation propagation) {
  return propagation == MountPropagation::None       ? "none"
         : propagation == MountPropagation::FromHost ? "from-host"
                                                     : "both-ways";
}

JsonArray mounts(const ContainerLaunch& launch, const PodLaunch& pod, const PodFolders& folders) {
  JsonArray out;
  const auto is_taken = [&](std::string_view target) {
    return std::ranges::any_of(launch.mounts,
                               [&](const LaunchMount& each) { return each.target == target; });
  };
  if (!pod.hosts.empty() && !is_taken("/etc/hosts"))
    out.push_back(mount(folders.transient + "/hosts", "/etc/hosts"));
  if (!pod.resolv_conf.empty() && !is_taken("/etc/resolv.conf"))
    out.push_back(mount(folders.transient + "/resolv.conf", "/etc/resolv.conf"));
  if (!launch.message_path.empty() && !is_taken(launch.message_path)) {
    out.push_back(mount(folders.message(launch.container, launch.run), launch.message_path));
  }
  // An outer mount comes before what is mounted inside it.
  std::vector<LaunchMount> sorted = launch.mounts;
  std::ranges::stable_sort(sorted, {}, [](const LaunchMount& each) { return each.target; });
  for (const LaunchMount& each : sorted) {
    const auto volume = std::ranges::find(pod.volumes, each.volume, &LaunchVolume::name);
    const LaunchVolume::Type type =
        volume == pod.volumes.end() ? LaunchVolume::Type::Empty : volume->type;
    const bool host_path = type == LaunchVolume::Type::HostPath;
    const bool is_images = !each.host_path.empty();
    JsonObject entry = mount(is_images   ? each.host_path
                             : host_path ? volume->path
                                         : folders.volume(each.volume, type),
                             each.target);
    entry["subPath"] = each.sub_path;
    entry["readOnly"] = each.read_only;
    entry["recursive"] = host_path || is_images;
    entry["recursivelyReadOnly"] = each.recursively_read_only;
    entry["propagation"] = host_path ? propagation_text(each.propagation) : "";
    out.push_back(std::move(entry));
  }
  return out;
}

bool is_set(const std::vector<CgroupFolder>& cgroups, std::string_view file) {
  return std::ranges::any_of(cgroups, [&](const CgroupFolder& cgroup) {
    return std::ranges::any_of(cgroup.limits,
                               [&](const auto& limit) { return limit.first == file; });
  });
}

}  // namespace

std::string pod_launch_text(const PodLaunch& launch, const PodFolders& folders,
                            std::string_view boot_id) {
  JsonArray memory;
  if (!launch.host_ipc)
    memory.push_back(JsonObject{{"folder", folders.transient + "/shm"},
                                {"bytes", launch.shared_memory_bytes},
                                {"group", -1},
                                {"shared", !launch.shares_memory_with.empty()}});
  JsonArray volumes, transient, sysctls;
  for (const auto& [file, text] : launch.sysctls)
    sysctls.push_back(JsonObject{{"file", file}, {"text", text}});
  for (const LaunchVolume& volume : launch.volumes) {
    if (volume.type == LaunchVolume::Type::Memory)
      memory.push_back(JsonObject{{"folder", folders.volume(volume.name, volume.type)},
                                  {"bytes", volume.bytes},
                                  {"group", volume.group.value_or(-1)}});
    if (volume.type == LaunchVolume::Type::HostPath)
      volumes.push_back(JsonObject{{"name", volume.name}, {"path", volume.path}});
    else if (volume.type != LaunchVolume::Type::Empty)
      transient.emplace_back(volume.name);
  }
  return to_text(JsonObject{{"version", 1},
                            {"uid", launch.uid},
                            {"bootId", boot_id},
                            {"namespace", launch.ns},
                            {"pod", launch.name},
                            {"hostname", launch.hostname},
                            {"hosts", !launch.hosts.empty()},
                            {"resolvConf", !launch.resolv_conf.empty()},
                            {"address", launch.address},
                            {"gpus", JsonArray(launch.gpus.begin(), launch.gpus.end())},
                            {"hostNetwork", launch.host_network},
                            {"logFolder", folders.logs},
                            {"transientFolder", folders.transient},
                            {"transientVolumes", std::move(transient)},
                            {"hostIPC", launch.host_ipc},
                            {"sharedWith", launch.shares_memory_with},
                            {"hostPID", launch.host_pid},
                            {"sharePID", launch.share_pid},
                            {"memory", std::move(memory)},
                            {"sysctls", std::move(sysctls)},
                            {"hostMounts", launch.mounts_reach_host},
                            {"hostPaths", std::move(volumes)}});
}

std::string container_launch_text(const ContainerLaunch& launch, const PodLaunch& pod,
                                  const PodFolders& folders,
                                  const std::vector<CgroupFolder>& cgroups) {
  JsonArray groups, cgroup_list, host_folders;
  for (const int64_t group : launch.groups)
    groups.emplace_back(group);
  if (launch.root_folder.empty() && launch.layers.empty()) {
    for (const char* folder : kHostFolders)
      host_folders.emplace_back(folder);
  }
  for (const CgroupFolder& cgroup : cgroups) {
    JsonArray limits;
    for (const auto& [file, text] : cgroup.limits)
      limits.push_back(JsonObject{{"file", file}, {"text", text}});
    cgroup_list.push_back(JsonObject{
        {"folder", cgroup.folder}, {"limits", std::move(limits)}, {"unified", cgroup.unified}});
  }
  JsonObject awaited;
  if (!launch.held.address.empty()) {
    using std::chrono::milliseconds;
    awaited = {
        {"address", launch.held.address},
        {"port", launch.held.port},
        {"forMilliseconds", std::chrono::duration_cast<milliseconds>(launch.held.longest).count()}};
  }
  return to_text(JsonObject{
      {"version", 1},
      {"container", launch.container},
      {"run", launch.run},
      {"argv", texts(launch.argv)},
      {"env", texts(launch.env)},
      {"workingFolder", launch.working_folder},
      {"privateRoot", true},
      {"rootFolder", launch.root_folder},
      {"layersFolder", launch.layers_folder},
      {"layers", texts(launch.layers)},
      {"imageVolumes", texts(launch.image_volumes)},
      {"readOnlyRoot", launch.read_only_root},
      {"noNewPrivileges", launch.no_new_privileges},
      {"hostIPC", pod.host_ipc},
      {"privileged", launch.privileged},
      {"maskedProc", launch.masked_proc},
      {"systemCalls", launch.system_calls},
      // What a control group holds, the shim need not.
      {"processesLimit", is_set(cgroups, "pids.max") ? 0 : launch.processes_limit.value_or(0)},
      {"memoryLimit", is_set(cgroups, "memory.limit_in_bytes") || is_set(cgroups, "memory.max")
                          ? 0
                          : launch.memory_limit_bytes.value_or(0)},
      {"hostFolders", std::move(host_folders)},
      {"mounts", mounts(launch, pod, folders)},
      {"cgroups", std::move(cgroup_list)},
      {"uid", launch.uid},
      {"gid", launch.gid},
      {"groups", std::move(groups)},
      {"capabilities", launch.capabilities},
      {"oomScoreAdjust", launch.oom_score_adjust},
      {"processesOf", launch.processes_of},
      {"messageFromLog", launch.message_from_log},
      {"input", launch.input},
      {"inputOnce", launch.input_once},
      {"terminal", launch.terminal},
      {"awaited", std::move(awaited)}});
}

}  // namespace yard
