#include "node/pod_launch.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/core/resources.h"
#include "api/tree.h"
#include "base/strings.h"
#include "node/capabilities.h"
#include "node/gpus.h"
#include "node/log_layout.h"
#include "node/network/resolv_conf.h"
#include "node/pod_sysctls.h"
#include "node/pod_volumes.h"
#include "node/seccomp.h"
#include "node/seccomp_profile.h"
#include "node/service_links.h"
#include "node/training_environment.h"

namespace yard {
namespace {

constexpr std::string_view kPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/.trainyard/bin";

std::string hosts_text(const Json& pod, const LaunchFacts& facts) {
  std::string out =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost "
      "ip6-loopback\nfe00::0\tip6-localnet\n"
      "fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
  const std::string hostname = pod_hostname(pod);
  const std::string_view subdomain = text_at(pod, {"spec", "subdomain"});
  if (!facts.env.pod_ip.empty()) {
    out += facts.env.pod_ip + "\t";
    if (!subdomain.empty())
      out += fmt::format("{}.{}.{}.svc.cluster.local\t", hostname, subdomain,
                         text_at(pod, {"metadata", "namespace"}));
    out += hostname + "\n";
  }
  const JsonArray& aliases = list_at(pod, {"spec", "hostAliases"});
  if (!aliases.empty()) out += "\n# Entries added by HostAliases.\n";
  for (const Json& alias : aliases) {
    out += text_at(alias, {"ip"});
    for (const Json& name : list_at(alias, {"hostnames"}))
      out += "\t" + std::string(text_of(name));
    out += "\n";
  }
  return out;
}

int64_t number_or(const Json& pod, const Json& container, const char* member, int64_t otherwise) {
  if (find_path(container, {"securityContext", member}) != nullptr)
    return int_at(container, {"securityContext", member});
  return int_at(pod, {"spec", "securityContext", member}, otherwise);
}

int oom_score(const Json& pod, const Json& container, int64_t machine_memory) {
  const std::string_view qos = text_at(pod, {"status", "qosClass"});
  if (qos == "Guaranteed") return -997;
  if (qos == "BestEffort" || machine_memory <= 0) return 1000;
  const auto request =
      Quantity::parse(text_at(container, {"resources", "requests", "memory"}, "0"));
  const int64_t bytes = request ? request->value() : 0;
  return static_cast<int>(
      std::clamp<int64_t>(1000 - bytes / std::max<int64_t>(1, machine_memory / 1000), 3, 999));
}

void set_limits(ContainerLaunch& launch, const Json& container) {
  const auto amount = [&](const char* list, const char* name) -> std::optional<Quantity> {
    const auto quantity = Quantity::parse(text_at(container, {"resources", list, name}));
    if (!quantity || quantity->is_zero()) return std::nullopt;
    return *quantity;
  };
  if (const auto memory = amount("limits", "memory")) launch.memory_limit_bytes = memory->value();
  if (const auto cpu = amount("limits", "cpu")) launch.cpu_limit_milli = cpu->milli();
  if (const auto cpu = amount("requests", "cpu")) launch.cpu_request_milli = cpu->milli();
}

Result<std::string> sub_path_of(const Json& mount, const Environment& environment) {
  const std::string_view expression = text_at(mount, {"subPathExpr"});
  if (expression.empty()) return std::string(text_at(mount, {"subPath"}));
  Environment with_value = environment;  // a variable that is empty counts as missing here
  std::erase_if(with_value, [](const auto& entry) { return entry.second.empty(); });
  const std::string path = expand(expression, with_value);
  if (const size_t unknown = path.find("$(");
      unknown != std::string::npos && path.find(')', unknown) != std::string::npos) {
    return error(Reason::Invalid,
                 fmt::format("missing value for {}",
                             path.substr(unknown + 2, path.find(')', unknown) - unknown - 2)));
  }
  if (path.starts_with("/"))
    return error(Reason::Invalid,
                 fmt::format("error SubPath `{}` must not be an absolute path", path));
  for (const std::string_view part : split(path, '/')) {
    if (part == "..")
      return error(Reason::Invalid, fmt::format("error SubPath `{}` must not contain '..'", path));
  }
  return path;
}

// Volumes made of objects are never written by a container (as upstream): what is renewed there
// must be ours alone. A claim may be read-only for the whole pod, whatever its containers say.
bool is_read_only_volume(const Json& pod, std::string_view name) {
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    if (text_at(volume, {"name"}) != name) continue;
    return find(volume, "configMap") != nullptr || find(volume, "secret") != nullptr ||
           find(volume, "downwardAPI") != nullptr || find(volume, "projected") != nullptr ||
           bool_at(volume, {"persistentVolumeClaim", "readOnly"});
  }
  return false;
}

MountPropagation propagation_named(std::string_view name) {
  return name == "Bidirectional"     ? MountPropagation::BothWays
         : name == "HostToContainer" ? MountPropagation::FromHost
                                     : MountPropagation::None;
}

bool any_mounts_reach_host(const Json& pod) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      for (const Json& mount : list_at(container, {"volumeMounts"})) {
        if (propagation_named(text_at(mount, {"mountPropagation"})) == MountPropagation::BothWays)
          return true;
      }
    }
  }
  return false;
}

std::optional<LaunchRefusal> add_mounts(ContainerLaunch& launch, const Json& pod,
                                        const Json& container, const Environment& environment) {
  for (const Json& mount : list_at(container, {"volumeMounts"})) {
    auto sub_path = sub_path_of(mount, environment);
    if (!sub_path) return LaunchRefusal{"CreateContainerConfigError", sub_path.error().message};
    std::string target(text_at(mount, {"mountPath"}));
    while (target.size() > 1 && target.ends_with('/'))
      target.pop_back();
    if (!target.starts_with('/')) target.insert(0, "/");
    launch.mounts.push_back(
        {std::string(text_at(mount, {"name"})), std::move(target), std::move(*sub_path),
         bool_at(mount, {"readOnly"}) || is_read_only_volume(pod, text_at(mount, {"name"})), "",
         text_at(mount, {"recursiveReadOnly"}) == "Enabled",
         propagation_named(text_at(mount, {"mountPropagation"}))});
  }
  return std::nullopt;
}

std::optional<LaunchRefusal> set_command(ContainerLaunch& launch, const Json& container,
                                         const Environment& environment,
                                         const ImageResolution& image) {
  if (list_at(container, {"command"}).empty()) {
    launch.argv = image.entry.entrypoint;
    // As of an image's CMD: a command or args of the YAML take its place.
    if (list_at(container, {"args"}).empty())
      launch.argv.insert(launch.argv.end(), image.entry.args.begin(), image.entry.args.end());
  }
  for (const char* list : {"command", "args"}) {
    for (const Json& word : list_at(container, {list}))
      launch.argv.push_back(expand(text_of(word), environment));
  }
  if (!launch.argv.empty()) return std::nullopt;
  const std::string_view name = text_at(container, {"image"});
  if (image.rung == ImageRung::Unpacked) {
    return LaunchRefusal{"CreateContainerError",
                         fmt::format("no command specified: the container names neither command "
                                     "nor args, and the image {} has no entrypoint",
                                     quoted(name))};
  }
  if (image.rung == ImageRung::Map) {
    return LaunchRefusal{"CreateContainerError",
                         fmt::format("no command specified: the container names neither command "
                                     "nor args, and images.map {0} has no entrypoint: add "
                                     "`entrypoint: [program, argument]` to it in config.yaml and "
                                     "`trainyard restart`",
                                     quoted(image.pattern))};
  }
  return LaunchRefusal{"CreateContainerError",
                       fmt::format("no command specified: image {0} is not unpacked on this "
                                   "machine, and the container names neither command nor args: "
                                   "set `command`, or write `images: {{map: {{{0}: {{entrypoint: "
                                   "[program, argument]}}}}}}` into config.yaml and `trainyard "
                                   "restart`",
                                   quoted(name))};
}

// What the image's entry brings; the container's own mounts go before.
void add_image(ContainerLaunch& launch, const ImageEntry& entry) {
  if (entry.base == ImageEntry::Base::Root) launch.root_folder = entry.folder;
  if (entry.unpacked) {
    launch.layers_folder = entry.unpacked->layers_folder;
    launch.layers = entry.unpacked->layers;
    launch.image_volumes = entry.unpacked->volumes;
  }
  for (const ImageMount& mount : entry.mounts) {
    const bool taken = std::ranges::any_of(
        launch.mounts, [&](const LaunchMount& each) { return each.target == mount.target; });
    if (!taken) launch.mounts.push_back({"", mount.target, "", mount.read_only, mount.source});
  }
  if (launch.working_folder.empty()) launch.working_folder = entry.working_folder;
}

// An image for CUDA has all but what must fit this machine's driver: that comes from the machine,
// where every loader looks first.
void add_driver(ContainerLaunch& launch, const std::vector<DriverFile>& files) {
  bool has_libraries = false;
  for (const DriverFile& file : files) {
    launch.mounts.push_back({"", file.target, "", true, file.source});
    has_libraries = has_libraries || file.is_library;
  }
  if (!has_libraries) return;
  for (std::string& each : launch.env) {
    if (!each.starts_with("LD_LIBRARY_PATH=")) continue;
    each += fmt::format(":{}", kDriverFolder);
    return;
  }
  launch.env.push_back(fmt::format("LD_LIBRARY_PATH={}", kDriverFolder));
}

Environment image_environment(const ImageEntry& entry) {
  Environment out{{"PATH", std::string(kPath)}};
  for (const auto& [name, value] : entry.env) {
    if (name == "PATH") {
      out.front().second = value;
    } else {
      out.emplace_back(name, value);
    }
  }
  if (entry.base == ImageEntry::Base::Python)
    out.front().second = entry.folder + "/bin:" + out.front().second;
  return out;
}

std::optional<std::int64_t> asked_number(const Json& pod, const Json& container,
                                         const char* member) {
  constexpr std::int64_t kUnset = -1;
  const std::int64_t number = number_or(pod, container, member, kUnset);
  return number == kUnset ? std::nullopt : std::optional(number);
}

std::optional<LaunchRefusal> set_identity(ContainerLaunch& launch, const Json& pod,
                                          const Json& container, const ImageEntry& image,
                                          std::string& home) {
  launch.uid = number_or(pod, container, "runAsUser", 0);
  launch.gid = number_or(pod, container, "runAsGroup", 0);
  home = launch.uid == 0 ? "/root" : "/home/pod";
  if (image.unpacked) {
    auto identity = image_identity(*image.unpacked, {asked_number(pod, container, "runAsUser"),
                                                     asked_number(pod, container, "runAsGroup")});
    if (!identity) return LaunchRefusal{"CreateContainerError", identity.error().message};
    launch.uid = identity->uid;
    launch.gid = identity->gid;
    launch.groups = std::move(identity->groups);
    home = std::move(identity->home);
  }
  for (const Json& group : list_at(pod, {"spec", "securityContext", "supplementalGroups"})) {
    if (group.is_int64()) launch.groups.push_back(group.get_int64());
  }
  if (find_path(pod, {"spec", "securityContext", "fsGroup"}) != nullptr)
    launch.groups.push_back(int_at(pod, {"spec", "securityContext", "fsGroup"}));
  const bool non_root = find_path(container, {"securityContext", "runAsNonRoot"}) != nullptr
                            ? bool_at(container, {"securityContext", "runAsNonRoot"})
                            : bool_at(pod, {"spec", "securityContext", "runAsNonRoot"});
  if (!non_root) return std::nullopt;
  const bool asked = find_path(container, {"securityContext", "runAsUser"}) != nullptr ||
                     find_path(pod, {"spec", "securityContext", "runAsUser"}) != nullptr;
  // A name may mean root to whoever wrote the image's passwd: only a number counts.
  const std::string problem = !asked && image.unpacked ? non_root_problem(*image.unpacked)
                              : launch.uid == 0
                                  ? "container has runAsNonRoot and image will run as root"
                                  : "";
  if (problem.empty()) return std::nullopt;
  const std::string where = fmt::format(
      "(pod: \"{}_{}({})\", container: {})", text_at(pod, {"metadata", "name"}),
      text_at(pod, {"metadata", "namespace"}), text_at(pod, {"metadata", "uid"}), launch.container);
  return LaunchRefusal{
      "CreateContainerConfigError",
      (asked ? "container's runAsUser breaks non-root policy" : problem) + " " + where};
}

Result<std::vector<FilterStep>> filter_of_file(const std::string& name, uint64_t capabilities,
                                               const LaunchFacts& facts) {
  const std::string text = TRY(facts.system_call_profile(name));
  const ParsedJson profile = TRY(parse_json(text));
  return profile_filter(profile.value, capabilities);
}

// Nearly all containers have the same capabilities: the last answer is kept.
std::string default_filter_text(uint64_t capabilities) {
  thread_local std::pair<uint64_t, std::string> last;
  if (last.second.empty() || last.first != capabilities)
    last = {capabilities, filter_text(default_filter(capabilities))};
  return last.second;
}

std::optional<LaunchRefusal> set_system_calls(ContainerLaunch& launch, const Json& pod,
                                              const Json& container, const LaunchFacts& facts) {
  const SeccompChoice choice = seccomp_choice(pod, container);
  if (!choice.filtered) return std::nullopt;
  if (choice.file.empty()) {
    launch.system_calls = default_filter_text(launch.capabilities);
    return std::nullopt;
  }
  auto filter = filter_of_file(choice.file, launch.capabilities, facts);
  if (!filter)
    return LaunchRefusal{
        "CreateContainerError",
        fmt::format("seccompProfile {}: {}", quoted(choice.file), filter.error().message)};
  launch.system_calls = filter_text(*filter);
  return std::nullopt;
}

}  // namespace

std::string pod_hostname(const Json& pod) {
  std::string_view name = text_at(pod, {"spec", "hostname"});
  if (name.empty()) name = text_at(pod, {"metadata", "name"});
  std::string out(name.substr(0, 63));
  while (!out.empty() && (out.back() == '-' || out.back() == '.'))
    out.pop_back();
  return out;
}

namespace {

// Its own devices and no others, whatever it names itself.
void show_gpus(Environment& environment, const std::vector<std::string>& given) {
  constexpr std::string_view kCuda = "CUDA_VISIBLE_DEVICES", kToolkit = "NVIDIA_VISIBLE_DEVICES";
  std::optional<std::string> wished;
  for (const auto& [name, value] : environment) {
    if (name == kCuda) wished = value;
  }
  std::erase_if(environment,
                [&](const auto& entry) { return entry.first == kCuda || entry.first == kToolkit; });
  environment.emplace_back(kCuda, visible_devices(given, wished));
  environment.emplace_back(kToolkit, given.empty() ? "void" : join(given, ","));
}

}  // namespace

ContainerLaunchResult container_launch(const Json& pod, const Json& container, int run,
                                       const LaunchFacts& facts) {
  ContainerLaunchResult out;
  ContainerLaunch& launch = out.launch;
  launch.container = text_at(container, {"name"});
  launch.run = run;
  if (facts.image.is_refused()) {
    out.refusal = LaunchRefusal{facts.image.reason, facts.image.message};
    return out;
  }
  std::string home;
  if ((out.refusal = set_identity(launch, pod, container, facts.image.entry, home))) return out;
  const bool host_network = bool_at(pod, {"spec", "hostNetwork"});
  const std::string& api_host = host_network ? facts.network.host_api_host : facts.network.api_host;
  const int api_port = host_network ? facts.network.host_api_port : facts.network.api_port;
  Environment base = image_environment(facts.image.entry);
  base.emplace_back("HOSTNAME", pod_hostname(pod));
  if (!facts.image.entry.unpacked || !facts.image.entry.env.contains("HOME"))
    base.emplace_back("HOME", home);
  const auto add = [&base](const Environment& more) {
    base.insert(base.end(), more.begin(), more.end());
  };
  add(service_variables("kubernetes", api_host,
                        {JsonObject{{"name", "https"}, {"port", api_port}}}));
  if (bool_at(pod, {"spec", "enableServiceLinks"}, true)) add(service_links(facts.services));
  auto environment = container_environment(pod, container, facts.env, base);
  if (!environment) {
    out.refusal = LaunchRefusal{"CreateContainerConfigError", environment.error().message};
    return out;
  }
  if ((out.refusal = set_command(launch, container, *environment, facts.image))) return out;
  if ((out.refusal = add_mounts(launch, pod, container, *environment))) return out;
  add_training_defaults(*environment, pod, container, facts.cpus);
  if (facts.gpus) show_gpus(*environment, gpus_of_container(pod, launch.container, *facts.gpus));
  for (const auto& [name, value] : *environment)
    launch.env.push_back(name + "=" + value);
  launch.working_folder = text_at(container, {"workingDir"});
  launch.processes_of = text_at(container, {"targetContainerName"});
  launch.input = bool_at(container, {"stdin"});
  launch.input_once = bool_at(container, {"stdinOnce"});
  launch.terminal = bool_at(container, {"tty"});
  add_image(launch, facts.image.entry);
  if (facts.image.entry.unpacked && facts.gpus &&
      !gpus_of_container(pod, launch.container, *facts.gpus).empty())
    add_driver(launch, facts.driver_files);
  launch.read_only_root = bool_at(container, {"securityContext", "readOnlyRootFilesystem"});
  launch.message_path = text_at(container, {"terminationMessagePath"});
  launch.message_from_log =
      text_at(container, {"terminationMessagePolicy"}) == "FallbackToLogsOnError";
  launch.capabilities = container_capabilities(container);
  launch.privileged = bool_at(container, {"securityContext", "privileged"});
  launch.no_new_privileges = !launch.privileged;
  launch.masked_proc =
      !launch.privileged && text_at(container, {"securityContext", "procMount"}) != "Unmasked";
  if ((out.refusal = set_system_calls(launch, pod, container, facts))) return out;
  launch.oom_score_adjust = oom_score(pod, container, facts.memory_bytes);
  set_limits(launch, container);
  launch.processes_limit = facts.processes_limit;
  return out;
}

Result<PodLaunch> pod_launch(const Json& pod, const LaunchFacts& facts) {
  PodLaunch out;
  out.uid = text_at(pod, {"metadata", "uid"});
  out.ns = text_at(pod, {"metadata", "namespace"});
  out.name = text_at(pod, {"metadata", "name"});
  out.hostname = pod_hostname(pod);
  out.about = pod_about_text(pod, facts.node_name);
  // The plan has refused them already; nothing else is ever written.
  if (auto refusal = sysctl_refusal(pod)) return error(Reason::Forbidden, std::move(*refusal));
  out.sysctls = pod_sysctls(pod);
  out.mounts_reach_host = any_mounts_reach_host(pod);
  out.host_ipc = bool_at(pod, {"spec", "hostIPC"});
  out.shares_memory_with = memory_group(pod);
  out.host_pid = bool_at(pod, {"spec", "hostPID"});
  out.share_pid = bool_at(pod, {"spec", "shareProcessNamespace"});
  out.host_network = bool_at(pod, {"spec", "hostNetwork"});
  if (!out.host_network) {
    out.hosts = hosts_text(pod, facts);
    out.address = facts.env.pod_ip;
  }
  out.resolv_conf = resolv_conf(pod, facts.network.resolv_conf, facts.network.dns);
  if (facts.gpus) out.gpus = *facts.gpus;
  out.volumes = TRY(pod_volumes(pod, facts.env));
  return out;
}

}  // namespace yard
