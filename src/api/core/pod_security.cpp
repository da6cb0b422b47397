#include "api/core/pod_security.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
// Probes and hooks that name a host of their own are refused by the rules of this version on.
constexpr int kFirstWithProbeHosts = 34;

using Names = std::vector<std::string>;
using Sorted = std::set<std::string>;

bool has(std::initializer_list<std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

template <typename List>
std::string quoted_names(const List& list) {
  std::string out;
  for (const std::string& name : list) {
    if (!out.empty()) out += ", ";
    out += '"' + name + '"';
  }
  return out;
}

std::string many(std::string_view word, size_t count) {
  return count == 1 ? std::string(word) : std::string(word) + "s";
}

std::string containers_named(const Names& names) {
  return many("container", names.size()) + " " + quoted_names(names);
}

// `pod and containers "a", "b"`: who set what may not be set.
std::string setters(bool by_pod, const Names& containers) {
  if (containers.empty()) return "pod";
  return (by_pod ? "pod and " : "") + containers_named(containers);
}

class Inspection {
 public:
  explicit Inspection(const Json& pod) : pod_(pod), spec_(section_of(pod, "spec")) {
    for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      for (const Json& container : list_at(spec_, {list}))
        containers_.push_back(&container);
    }
  }

  std::string breaches(const SecurityStandard& standard) {
    if (standard.level == SecurityLevel::Privileged) return "";
    const bool restricted = standard.level == SecurityLevel::Restricted;
    check_app_armor();
    if (!restricted) check_capabilities();
    check_host_namespaces();
    if (!restricted) check_host_paths();
    check_host_ports();
    if (standard.minor == 0 || standard.minor >= kFirstWithProbeHosts) check_probe_hosts();
    check_privileged();
    check_proc_mount();
    check_selinux();
    if (!restricted) check_seccomp(false);
    check_sysctls();
    if (restricted) {
      check_escalation();
      check_dropped_capabilities();
      check_volumes();
      check_non_root();
      check_root_user();
      check_seccomp(true);
    }
    return join(found_, ", ");
  }

 private:
  static const Json& section_of(const Json& object, std::string_view name) {
    static const Json kNone = JsonObject();
    const Json* section = find(object, name);
    return section != nullptr && section->is_object() ? *section : kNone;
  }
  static const Json* context(const Json& of, std::string_view member) {
    const Json* value = find_path(of, {"securityContext", member});
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  static bool is_true(const Json* value) {
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  static bool is_false(const Json* value) {
    return value != nullptr && value->is_bool() && !value->get_bool();
  }

  template <typename Test>
  Names containers_where(const Test& test) const {
    Names out;
    for (const Json* container : containers_) {
      if (test(*container)) out.emplace_back(name_of_container(*container));
    }
    return out;
  }
  static std::string_view name_of_container(const Json& container) {
    return text_at(container, {"name"});
  }
  void add(std::string_view what, const std::string& detail) {
    found_.push_back(fmt::format("{} ({})", what, detail));
  }

  void check_app_armor() {
    Sorted values;
    const auto is_bad = [&](const Json& of) {
      const Json* profile = context(of, "appArmorProfile");
      if (profile == nullptr) return false;
      const std::string type(text_at(*profile, {"type"}));
      if (has({"RuntimeDefault", "Localhost"}, type)) return false;
      values.insert(type);
      return true;
    };
    const bool by_pod = is_bad(spec_);
    const Names containers = containers_where(is_bad);
    Names shown;
    if (by_pod) shown.emplace_back("pod");
    if (!containers.empty()) shown.push_back(containers_named(containers));
    Sorted annotations;
    for (const auto& entry : map_at(pod_, {"metadata", "annotations"})) {
      const std::string_view value = text_of(entry.value());
      if (!std::string_view(entry.key()).starts_with(kAppArmorAnnotation) || value.empty() ||
          value == "runtime/default" || value.starts_with("localhost/"))
        continue;
      annotations.insert(fmt::format("{}=\"{}\"", std::string_view(entry.key()), value));
    }
    Names all(values.begin(), values.end());
    if (!annotations.empty()) {
      shown.push_back(many("annotation", annotations.size()));
      all.insert(all.end(), annotations.begin(), annotations.end());
    }
    if (shown.empty()) return;
    add(many("forbidden AppArmor profile", all.size()),
        fmt::format("{} must not set AppArmor profile type to {}", join(shown, " and "),
                    quoted_names(all)));
  }

  void check_capabilities() {
    Sorted others;
    const Names containers = containers_where([&](const Json& container) {
      bool bad = false;
      for (const Json& added : list_at(container, {"securityContext", "capabilities", "add"})) {
        const std::string_view name = text_of(added);
        if (has({"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
                 "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"},
                name))
          continue;
        others.emplace(name);
        bad = true;
      }
      return bad;
    });
    if (containers.empty()) return;
    add("non-default capabilities",
        fmt::format("{} must not include {} in securityContext.capabilities.add",
                    containers_named(containers), quoted_names(others)));
  }

  void check_host_namespaces() {
    Names taken;
    for (const char* name : {"hostNetwork", "hostPID", "hostIPC"}) {
      if (bool_at(spec_, {name})) taken.push_back(fmt::format("{}=true", name));
    }
    if (!taken.empty()) add("host namespaces", join(taken, ", "));
  }

  void check_host_paths() {
    Names volumes;
    for (const Json& volume : list_at(spec_, {"volumes"})) {
      if (find(volume, "hostPath") != nullptr) volumes.emplace_back(text_at(volume, {"name"}));
    }
    if (!volumes.empty())
      add("hostPath volumes", many("volume", volumes.size()) + " " + quoted_names(volumes));
  }

  void check_host_ports() {
    Sorted ports;
    const Names containers = containers_where([&](const Json& container) {
      bool bad = false;
      for (const Json& port : list_at(container, {"ports"})) {
        const int64_t number = int_at(port, {"hostPort"});
        if (number == 0) continue;
        ports.insert(std::to_string(number));
        bad = true;
      }
      return bad;
    });
    if (containers.empty()) return;
    add("hostPort",
        fmt::format("{} {} {} {}", containers_named(containers),
                    containers.size() == 1 ? "uses" : "use", many("hostPort", ports.size()),
                    join(Names(ports.begin(), ports.end()), ", ")));
  }

  void check_probe_hosts() {
    Sorted hosts;
    const Names bad = containers_where([&](const Json& container) {
      bool found = false;
      const auto look = [&](const Json* handler) {
        if (handler == nullptr) return;
        for (const std::string_view kind : {"httpGet", "tcpSocket"}) {
          const std::string_view host = text_at(*handler, {kind, "host"});
          if (host.empty()) continue;
          hosts.emplace(host);
          found = true;
        }
      };
      for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
        look(find(container, probe));
      for (const std::string_view hook : {"postStart", "preStop"})
        look(find_path(container, {"lifecycle", hook}));
      return found;
    });
    if (bad.empty()) return;
    const Names sorted = in_order(bad);
    add("probe or lifecycle host",
        fmt::format("{} {} {} {}", containers_named(sorted), sorted.size() == 1 ? "uses" : "use",
                    many("probe or lifecycle host", hosts.size()), quoted_names(hosts)));
  }
  static Names in_order(Names names) {
    std::ranges::sort(names);
    return names;
  }

  void check_privileged() {
    const Names containers = containers_where(
        [](const Json& container) { return is_true(context(container, "privileged")); });
    if (containers.empty()) return;
    add("privileged",
        containers_named(containers) + " must not set securityContext.privileged=true");
  }

  void check_proc_mount() {
    Sorted types;
    const Names containers = containers_where([&](const Json& container) {
      const Json* type = context(container, "procMount");
      if (type == nullptr || text_of(*type) == "Default") return false;
      types.emplace(text_of(*type));
      return true;
    });
    if (containers.empty()) return;
    add("procMount", fmt::format("{} must not set securityContext.procMount to {}",
                                 containers_named(containers), quoted_names(types)));
  }

  void check_selinux() {
    Sorted types;
    bool user = false, role = false;
    const auto is_bad = [&](const Json& of) {
      const Json* options = context(of, "seLinuxOptions");
      if (options == nullptr) return false;
      bool bad = false;
      const std::string_view type = text_at(*options, {"type"});
      if (!has({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"},
               type)) {
        types.emplace(type);
        bad = true;
      }
      if (!text_at(*options, {"user"}).empty()) bad = user = true;
      if (!text_at(*options, {"role"}).empty()) bad = role = true;
      return bad;
    };
    const bool by_pod = is_bad(spec_);
    const Names containers = containers_where(is_bad);
    if (!by_pod && containers.empty()) return;
    Names what;
    if (!types.empty()) what.push_back(many("type", types.size()) + " " + quoted_names(types));
    if (user) what.emplace_back("user may not be set");
    if (role) what.emplace_back("role may not be set");
    add("seLinuxOptions", fmt::format("{} set forbidden securityContext.seLinuxOptions: {}",
                                      setters(by_pod, containers), join(what, "; ")));
  }

  void check_seccomp(bool must_be_set) {
    Sorted values;
    const auto is_bad = [&](const Json& of) {
      const Json* profile = context(of, "seccompProfile");
      if (profile == nullptr) return false;
      const std::string_view type = text_at(*profile, {"type"});
      if (has({"RuntimeDefault", "Localhost"}, type)) return false;
      values.emplace(type);
      return true;
    };
    const bool by_pod = is_bad(spec_);
    const Names containers = containers_where(is_bad);
    if (by_pod || !containers.empty()) {
      return add("seccompProfile",
                 fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                             setters(by_pod, containers), quoted_names(values)));
    }
    if (!must_be_set || context(spec_, "seccompProfile") != nullptr) return;
    const Names unset = containers_where(
        [](const Json& container) { return context(container, "seccompProfile") == nullptr; });
    if (unset.empty()) return;
    add("seccompProfile",
        fmt::format("pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" "
                    "or \"Localhost\"",
                    containers_named(unset)));
  }

  void check_sysctls() {
    Names others;
    for (const Json& sysctl : list_at(spec_, {"securityContext", "sysctls"})) {
      const std::string_view name = text_at(sysctl, {"name"});
      if (has({"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range",
               "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
               "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
               "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
               "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
               "net.ipv4.tcp_wmem"},
              name))
        continue;
      others.emplace_back(name);
    }
    if (!others.empty()) add("forbidden sysctls", join(others, ", "));
  }

  void check_escalation() {
    const Names containers = containers_where([](const Json& container) {
      return !is_false(context(container, "allowPrivilegeEscalation"));
    });
    if (containers.empty()) return;
    add("allowPrivilegeEscalation != false",
        containers_named(containers) + " must set securityContext.allowPrivilegeEscalation=false");
  }

  void check_dropped_capabilities() {
    Sorted added;
    const Names not_dropping = containers_where([](const Json& container) {
      return std::ranges::none_of(list_at(container, {"securityContext", "capabilities", "drop"}),
                                  [](const Json& name) { return text_of(name) == "ALL"; });
    });
    const Names adding = containers_where([&](const Json& container) {
      bool bad = false;
      for (const Json& name : list_at(container, {"securityContext", "capabilities", "add"})) {
        if (text_of(name) == "NET_BIND_SERVICE") continue;
        added.emplace(text_of(name));
        bad = true;
      }
      return bad;
    });
    Names what;
    if (!not_dropping.empty()) {
      what.push_back(containers_named(not_dropping) +
                     " must set securityContext.capabilities.drop=[\"ALL\"]");
    }
    if (!adding.empty()) {
      what.push_back(fmt::format("{} must not include {} in securityContext.capabilities.add",
                                 containers_named(adding), quoted_names(added)));
    }
    if (!what.empty()) add("unrestricted capabilities", join(what, "; "));
  }

  void check_volumes() {
    Names volumes;
    Sorted types;
    for (const Json& volume : list_at(spec_, {"volumes"})) {
      if (!volume.is_object()) continue;
      std::string type = "unknown";
      for (const auto& member : volume.get_object()) {
        if (std::string_view(member.key()) != "name") type = std::string(member.key());
      }
      if (has({"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
               "persistentVolumeClaim", "projected", "secret"},
              type))
        continue;
      volumes.emplace_back(text_at(volume, {"name"}));
      types.insert(type);
    }
    if (volumes.empty()) return;
    add("restricted volume types",
        fmt::format("{} {} {} {} {}", many("volume", volumes.size()), quoted_names(volumes),
                    volumes.size() == 1 ? "uses" : "use",
                    many("restricted volume type", types.size()), quoted_names(types)));
  }

  void check_non_root() {
    const bool pod_says_no = is_false(context(spec_, "runAsNonRoot"));
    const bool pod_says_yes = is_true(context(spec_, "runAsNonRoot"));
    const Names say_no = containers_where(
        [](const Json& container) { return is_false(context(container, "runAsNonRoot")); });
    if (pod_says_no || !say_no.empty()) {
      return add("runAsNonRoot != true",
                 setters(pod_says_no, say_no) + " must not set securityContext.runAsNonRoot=false");
    }
    if (pod_says_yes) return;
    const Names silent = containers_where(
        [](const Json& container) { return context(container, "runAsNonRoot") == nullptr; });
    if (silent.empty()) return;
    add("runAsNonRoot != true", fmt::format("pod or {} must set securityContext.runAsNonRoot=true",
                                            containers_named(silent)));
  }

  void check_root_user() {
    const auto is_root = [](const Json& of) {
      return context(of, "runAsUser") != nullptr &&
             int_at(of, {"securityContext", "runAsUser"}, -1) == 0;
    };
    const bool by_pod = is_root(spec_);
    const Names containers = containers_where(is_root);
    if (by_pod || !containers.empty())
      add("runAsUser=0", setters(by_pod, containers) + " must not set runAsUser=0");
  }

  const Json& pod_;
  const Json& spec_;
  std::vector<const Json*> containers_;
  std::vector<std::string> found_;
};

std::optional<SecurityLevel> level_of(std::string_view word) {
  if (word == "privileged") return SecurityLevel::Privileged;
  if (word == "baseline") return SecurityLevel::Baseline;
  if (word == "restricted") return SecurityLevel::Restricted;
  return std::nullopt;
}

// latest, v1.25
std::optional<int> minor_of(std::string_view word) {
  if (word == "latest") return 0;
  if (!word.starts_with("v1.")) return std::nullopt;
  const auto number = parse_int64(word.substr(3));
  return number && *number >= 0 && *number < 1000 ? std::optional(static_cast<int>(*number))
                                                  : std::nullopt;
}

}  // namespace

std::string SecurityStandard::text() const {
  static constexpr std::string_view kLevels[] = {"privileged", "baseline", "restricted"};
  return fmt::format("{}:{}", kLevels[static_cast<size_t>(level)],
                     minor == 0 ? std::string("latest") : fmt::format("v1.{}", minor));
}

SecurityPolicy security_policy_of(const Json& labels, FieldErrors* problems) {
  SecurityPolicy out;
  const auto read = [&](const std::string& name, const auto& parse, std::string_view what) {
    using Value = decltype(parse(std::string_view()));
    const Json* given = find(labels, std::string(kPrefix) + name);
    if (given == nullptr) return std::pair<bool, Value>{false, std::nullopt};
    const Value value = parse(text_of(*given));
    if (!value && problems != nullptr) {
      problems->push_back(invalid(FieldPath("metadata.labels").key(std::string(kPrefix) + name),
                                  *given, std::string(what)));
    }
    return std::pair<bool, Value>{true, value};
  };
  static constexpr std::string_view kLevelRule = "must be one of privileged, baseline, restricted",
                                    kVersionRule = "must be \"latest\" or \"v1.x\"";
  const auto [has_enforce, enforce] = read("enforce", level_of, kLevelRule);
  const auto [has_minor, minor] = read("enforce-version", minor_of, kVersionRule);
  const auto [has_warn, warn] = read("warn", level_of, kLevelRule);
  const auto [has_warn_minor, warn_minor] = read("warn-version", minor_of, kVersionRule);
  read("audit", level_of, kLevelRule);
  read("audit-version", minor_of, kVersionRule);
  if (has_enforce) out.enforce.level = enforce.value_or(SecurityLevel::Restricted);
  out.enforce.minor = minor.value_or(0);
  if (has_warn) {
    out.warn = {warn.value_or(SecurityLevel::Privileged), warn_minor.value_or(0)};
  } else if (enforce) {
    out.warn = {*enforce, has_warn_minor ? warn_minor.value_or(0) : out.enforce.minor};
  }
  return out;
}

std::string security_breaches(const Json& pod, const SecurityStandard& standard) {
  return Inspection(pod).breaches(standard);
}

std::string security_warning(const SecurityStandard& standard, std::string_view breaches) {
  return fmt::format("would violate PodSecurity \"{}\": {}", standard.text(), breaches);
}

const Json* pod_template_in(std::string_view group, std::string_view kind, const Json& object) {
  if (group == "batch" && kind == "CronJob")
    return find_path(object, {"spec", "jobTemplate", "spec", "template"});
  const bool has_template = (group == "batch" && kind == "Job") || group == "apps" ||
                            (group.empty() && kind == "ReplicationController");
  return has_template ? find_path(object, {"spec", "template"}) : nullptr;
}

}  // namespace yard
