#include "api/core/pod_template.h"

#include <limits>
#include <map>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();

void check_name(FieldErrors& errors, const Json& spec, const char* key, const FieldPath& path,
                std::vector<std::string> (*problems)(std::string_view)) {
  const std::string_view value = text_at(spec, {key});
  if (!value.empty()) add_problems(errors, path.child(key), value, problems(value));
}

FieldErrors validate_dns(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  require_supported(errors, spec, "dnsPolicy", path,
                    {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"});
  if (text_at(spec, {"dnsPolicy"}) != "None") return errors;
  const Json* config = find(spec, "dnsConfig");
  if (!config) {
    errors.push_back(
        required(path.child("dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None"));
  } else if (array_at(*config, "nameservers").empty()) {
    errors.push_back(required(path.child("dnsConfig").child("nameservers"),
                              "must provide at least one DNS nameserver when `dnsPolicy` is None"));
  }
  return errors;
}

FieldErrors validate_host_aliases(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& aliases = array_at(spec, "hostAliases");
  for (size_t i = 0; i < aliases.size(); ++i) {
    const FieldPath place = path.child("hostAliases").index(i);
    const std::string_view ip = text_at(aliases[i], {"ip"});
    check_ip(errors, place.child("ip"), ip);
    for (const Json& name : array_at(aliases[i], "hostnames")) {
      add_problems(errors, place.child("hostnames"), text_of(name),
                   dns1123_subdomain_problems(text_of(name)));
    }
  }
  return errors;
}

FieldErrors validate_identity(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  check_name(errors, spec, "serviceAccountName", path, dns1123_subdomain_problems);
  check_name(errors, spec, "nodeName", path, dns1123_subdomain_problems);
  check_name(errors, spec, "hostname", path, dns1123_label_problems);
  check_name(errors, spec, "subdomain", path, dns1123_label_problems);
  check_name(errors, spec, "priorityClassName", path, dns1123_subdomain_problems);
  check_name(errors, spec, "runtimeClassName", path, dns1123_subdomain_problems);
  check_supported(errors, spec, "preemptionPolicy", path, {"Never", "PreemptLowerPriority"});
  append_errors(errors, validate_host_aliases(spec, path));
  const JsonArray& gates = array_at(spec, "readinessGates");
  for (size_t i = 0; i < gates.size(); ++i) {
    const std::string_view type = text_at(gates[i], {"conditionType"});
    add_problems(errors, path.child("readinessGates").index(i).child("conditionType"), type,
                 qualified_name_problems(type));
  }
  return errors;
}

}  // namespace

FieldErrors validate_pod_spec(const Json& spec, const FieldPath& path) {
  PodSpecFacts pod{volume_names(spec), int_at(spec, {"terminationGracePeriodSeconds"}, 30),
               bool_at(spec, {"hostNetwork"})};
  FieldErrors errors = validate_volumes(spec, path);
  append_errors(errors, validate_containers(spec, pod, path));
  append_errors(errors, validate_resources(find(spec, "resources"), path.child("resources")));
  require_supported(errors, spec, "restartPolicy", path, {"Always", "OnFailure", "Never"});
  append_errors(errors, validate_dns(spec, path));
  append_errors(errors, validate_pod_security_context(spec, path));
  append_errors(errors, validate_placement(spec, path));
  check_within(errors, spec, "activeDeadlineSeconds", path, 1, kMostInt32);
  append_errors(errors, validate_identity(spec, path));
  return errors;
}

FieldErrors validate_pod_template(const Json& pod_template, const FieldPath& path) {
  static const Json kNone = JsonObject();
  const Json* metadata = find(pod_template, "metadata");
  const Json& labelled = metadata ? *metadata : kNone;
  const FieldPath place = path.child("metadata");
  FieldErrors errors = validate_labels(find(labelled, "labels"), place.child("labels"));
  append_errors(errors,
                validate_annotations(find(labelled, "annotations"), place.child("annotations")));
  const Json* spec = find(pod_template, "spec");
  append_errors(errors, validate_pod_spec(spec ? *spec : kNone, path.child("spec")));
  if (spec && !array_at(*spec, "ephemeralContainers").empty()) {
    errors.push_back(forbidden(path.child("spec").child("ephemeralContainers"),
                               "ephemeral containers not allowed in pod template"));
  }
  return errors;
}

namespace {

void warn_of_hidden_variables(std::vector<std::string>& warnings, const Json& container,
                              const FieldPath& path) {
  std::set<std::string_view> seen;
  const JsonArray& variables = array_at(container, "env");
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::string_view name = text_at(variables[i], {"name"});
    if (seen.insert(name).second) continue;
    warnings.push_back(
        fmt::format("{}: hides previous definition of {}, which may be dropped when using apply",
                    path.child("env").index(i).text(), quoted(name)));
  }
}

void warn_of_same_ports(std::vector<std::string>& warnings, const Json& container,
                        const FieldPath& path) {
  std::map<std::pair<int64_t, std::string_view>, size_t> seen;
  const JsonArray& ports = array_at(container, "ports");
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto [first, added] = seen.try_emplace(
        {int_at(ports[i], {"containerPort"}), text_at(ports[i], {"protocol"}, "TCP")}, i);
    if (added) continue;
    warnings.push_back(fmt::format("{}: duplicate port definition with {}",
                                   path.child("ports").index(i).text(),
                                   path.child("ports").index(first->second).text()));
  }
}

// 100m of memory is a tenth of a byte: almost always a slip for 100M.
void warn_of_fractional_bytes(std::vector<std::string>& warnings, const Json& container,
                              const FieldPath& path) {
  for (const char* list : {"limits", "requests"}) {
    for (const char* resource : {"memory", "ephemeral-storage"}) {
      const std::string_view text = text_at(container, {"resources", list, resource});
      if (text.empty()) continue;
      const Result<Quantity> quantity = Quantity::parse(text);
      if (!quantity || quantity->is_integer()) continue;
      warnings.push_back(fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                                     path.child("resources").child(list).key(resource).text(),
                                     quoted(text)));
    }
  }
}

}  // namespace

std::vector<std::string> pod_spec_warnings(const Json& spec, const FieldPath& path) {
  std::vector<std::string> warnings;
  for (const char* list : {"initContainers", "containers"}) {
    const JsonArray& containers = array_at(spec, list);
    for (size_t i = 0; i < containers.size(); ++i) {
      const FieldPath place = path.child(list).index(i);
      warn_of_hidden_variables(warnings, containers[i], place);
      warn_of_same_ports(warnings, containers[i], place);
      warn_of_fractional_bytes(warnings, containers[i], place);
    }
  }
  const JsonArray& secrets = array_at(spec, "imagePullSecrets");
  for (size_t i = 0; i < secrets.size(); ++i) {
    if (!text_at(secrets[i], {"name"}).empty()) continue;
    warnings.push_back(fmt::format("{}: invalid empty name \"\"",
                                   path.child("imagePullSecrets").index(i).child("name").text()));
  }
  if (int_at(spec, {"terminationGracePeriodSeconds"}) < 0) {
    warnings.push_back(
        fmt::format("{}: must be >= 0; negative values are invalid and will be treated as 1",
                    path.child("terminationGracePeriodSeconds").text()));
  }
  return warnings;
}

}  // namespace yard
