#include "node/shim/launch.h"

#include <cerrno>
#include <string.h>

#include "node/shim/files.h"
#include "node/shim/json.h"

namespace shim {
namespace {

std::string load(const char* path, Value& out) {
  std::string text;
  if (!read_whole(path, text)) return std::string("cannot read ") + path + ": " + strerror(errno);
  if (!parse(text, out) || out.type != Value::Type::Object)
    return std::string(path) + " is no JSON object";
  if (out["version"].number != 1)
    return std::string(path) + " has a version this shim does not know";
  return "";
}

Mount::Propagation propagation_named(const std::string& name) {
  return name == "none"        ? Mount::Propagation::None
         : name == "from-host" ? Mount::Propagation::FromHost
         : name == "both-ways" ? Mount::Propagation::BothWays
                               : Mount::Propagation::Unsaid;
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items)
    out.push_back(item.text);
  return out;
}

}  // namespace

std::string read_pod(const char* path, Pod& pod) {
  Value root;
  if (std::string problem = load(path, root); !problem.empty()) return problem;
  pod.uid = root["uid"].text;
  pod.hostname = root["hostname"].text;
  pod.log_folder = root["logFolder"].text;
  pod.transient_folder = root["transientFolder"].text;
  pod.job = root["sharedWith"].text;
  pod.host_ipc = root["hostIPC"].boolean;
  pod.host_pid = root["hostPID"].boolean;
  pod.share_pid = root["sharePID"].boolean;
  for (const Value& item : root["memory"].items)
    pod.memory.push_back({item["folder"].text, static_cast<uint64_t>(item["bytes"].number),
                          item["group"].number, item["shared"].boolean});
  for (const Value& item : root["sysctls"].items)
    pod.sysctls.emplace_back(item["file"].text, item["text"].text);
  pod.host_mounts = root["hostMounts"].boolean;
  return "";
}

std::string read_container(const std::string& path, Container& container) {
  Value root;
  if (std::string problem = load(path.c_str(), root); !problem.empty()) return problem;
  container.name = root["container"].text;
  container.run = static_cast<int>(root["run"].number);
  container.argv = texts(root["argv"]);
  container.env = texts(root["env"]);
  container.host_folders = texts(root["hostFolders"]);
  container.working_folder = root["workingFolder"].text;
  container.root_folder = root["rootFolder"].text;
  container.layers_folder = root["layersFolder"].text;
  container.layers = texts(root["layers"]);
  container.image_volumes = texts(root["imageVolumes"]);
  container.private_root = root["privateRoot"].boolean;
  container.read_only_root = root["readOnlyRoot"].boolean;
  container.no_new_privileges = root["noNewPrivileges"].boolean;
  container.host_ipc = root["hostIPC"].boolean;
  container.privileged = root["privileged"].boolean;
  container.masked_proc = root["maskedProc"].boolean;
  container.system_calls = root["systemCalls"].text;
  container.processes_limit = static_cast<uint64_t>(root["processesLimit"].number);
  container.memory_limit = static_cast<uint64_t>(root["memoryLimit"].number);
  container.uid = static_cast<uint32_t>(root["uid"].number);
  container.gid = static_cast<uint32_t>(root["gid"].number);
  for (const Value& group : root["groups"].items)
    container.groups.push_back(static_cast<uint32_t>(group.number));
  container.capabilities = static_cast<uint64_t>(root["capabilities"].number);
  container.oom_score_adjust = static_cast<int>(root["oomScoreAdjust"].number);
  container.processes_of = root["processesOf"].text;
  container.input = root["input"].boolean;
  container.input_once = root["inputOnce"].boolean;
  container.terminal = root["terminal"].boolean;
  const Value& awaited = root["awaited"];
  container.awaited = {awaited["address"].text, static_cast<int>(awaited["port"].number),
                       awaited["forMilliseconds"].number};
  if (container.terminal) container.env.push_back("TERM=xterm");  // the YAML's own comes first
  for (const Value& item : root["mounts"].items) {
    container.mounts.push_back({item["source"].text, item["target"].text, item["subPath"].text,
                                item["readOnly"].boolean, item["recursive"].boolean,
                                item["recursivelyReadOnly"].boolean,
                                propagation_named(item["propagation"].text)});
  }
  for (const Value& item : root["cgroups"].items) {
    Cgroup cgroup{item["folder"].text, {}, item["unified"].boolean};
    for (const Value& limit : item["limits"].items)
      cgroup.limits.emplace_back(limit["file"].text, limit["text"].text);
    container.cgroups.push_back(std::move(cgroup));
  }
  if (container.argv.empty()) return path + " names no command";
  return "";
}

}  // namespace shim
