#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

enum class Role { App, Init, Ephemeral };

// What must be unique over the containers of a list.
struct Taken {
  std::set<std::string_view>& names;
  std::set<std::string> host_ports;
};

FieldErrors validate_port(const Json& port, bool host_network, const FieldPath& path) {
  FieldErrors errors;
  if (const int64_t number = int_at(port, {"containerPort"}); number == 0) {
    errors.push_back(required(path.child("containerPort")));
  } else {
    check_within(errors, port, "containerPort", path, 1, 65535);
    const int64_t host_port = int_at(port, {"hostPort"});
    if (host_network && host_port != 0 && host_port != number) {
      errors.push_back(invalid(path.child("containerPort"), Json(number),
                               "must match `hostPort` when `hostNetwork` is true"));
    }
  }
  if (int_at(port, {"hostPort"}) != 0) check_within(errors, port, "hostPort", path, 1, 65535);
  require_supported(errors, port, "protocol", path, {"SCTP", "TCP", "UDP"});
  return errors;
}

FieldErrors validate_ports(const Json& container, bool host_network, Taken& taken,
                           const FieldPath& path) {
  FieldErrors errors;
  std::set<std::string_view> names;
  const JsonArray& ports = array_at(container, "ports");
  for (size_t i = 0; i < ports.size(); ++i) {
    const Json& port = ports[i];
    const FieldPath place = path.index(i);
    if (const std::string_view name = text_at(port, {"name"}); !name.empty()) {
      add_problems(errors, place.child("name"), name, port_name_problems(name));
      if (!names.insert(name).second) errors.push_back(duplicate(place.child("name"), Json(name)));
    }
    append_errors(errors, validate_port(port, host_network, place));
    const int64_t host_port = int_at(port, {"hostPort"});
    if (host_port == 0) continue;
    const std::string key =
        fmt::format("{}/{}/{}", text_at(port, {"protocol"}), text_at(port, {"hostIP"}), host_port);
    if (!taken.host_ports.insert(key).second) {
      errors.push_back(duplicate(place.child("hostPort"), Json(key)));
    }
  }
  return errors;
}

void validate_name(FieldErrors& errors, const Json& container, const FieldPath& path) {
  const std::string_view name = text_at(container, {"name"});
  const FieldPath place = path.child("name");
  if (name.empty()) {
    errors.push_back(required(place));
    return;
  }
  add_problems(errors, place, name, dns1123_label_problems(name));
}

// Upstream tells this after all else of the container.
void refuse_taken_name(FieldErrors& errors, const Json& container, Taken& taken,
                       const FieldPath& path) {
  const std::string_view name = text_at(container, {"name"});
  if (!name.empty() && !taken.names.insert(name).second)
    errors.push_back(duplicate(path.child("name"), Json(name)));
}

void validate_image(FieldErrors& errors, const Json& container, const FieldPath& path) {
  const std::string_view image = text_at(container, {"image"});
  if (image.empty()) {
    errors.push_back(required(path.child("image")));
  } else if (trim(image) != image) {
    errors.push_back(
        invalid(path.child("image"), Json(image), "must not have leading or trailing whitespace"));
  }
}

// Only sidecars among the init containers live long enough to be probed.
void validate_role(FieldErrors& errors, const Json& container, Role role, const FieldPath& path) {
  const Json* policy = find(container, "restartPolicy");
  if (role != Role::Init) {
    if (policy) {
      errors.push_back(
          forbidden(path.child("restartPolicy"), "may not be set for non-init containers"));
    }
    return;
  }
  check_supported(errors, container, "restartPolicy", path, {"Always"});
  if (policy) return;
  for (const char* key : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!find(container, key)) continue;
    errors.push_back(forbidden(path.child(key),
                               "may not be set for init containers without restartPolicy=Always"));
  }
}

FieldErrors validate_container(const Json& container, Role role, const PodSpecFacts& pod,
                               Taken& taken, const FieldPath& path) {
  FieldErrors errors;
  validate_name(errors, container, path);
  validate_image(errors, container, path);
  require_supported(errors, container, "terminationMessagePolicy", path,
                    {"FallbackToLogsOnError", "File"});
  append_errors(errors, validate_ports(container, pod.host_network, taken, path.child("ports")));
  append_errors(errors, validate_env(container, path));
  append_errors(errors, validate_volume_mounts(container, pod.volumes, path));
  require_supported(errors, container, "imagePullPolicy", path,
                    {"Always", "IfNotPresent", "Never"});
  append_errors(errors, validate_resources(find(container, "resources"), path.child("resources")));
  append_errors(errors, validate_container_security_context(container, path));
  append_errors(errors, validate_lifecycle(container, pod.grace_seconds, path));
  append_errors(errors, validate_probes(container, path));
  validate_role(errors, container, role, path);
  refuse_taken_name(errors, container, taken, path);
  return errors;
}

void check_target(FieldErrors& errors, const Json& debugger, const Json& spec,
                  const FieldPath& path) {
  const std::string_view target = text_at(debugger, {"targetContainerName"});
  if (target.empty()) return;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& each : array_at(spec, list)) {
      if (text_at(each, {"name"}) == target) return;
    }
  }
  errors.push_back(not_found(path.child("targetContainerName"), Json(std::string(target))));
}

}  // namespace

FieldErrors validate_containers(const Json& spec, const PodSpecFacts& pod, const FieldPath& path) {
  FieldErrors errors;
  if (array_at(spec, "containers").empty()) errors.push_back(required(path.child("containers")));
  struct List {
    const char* key;
    Role role;
  };
  std::set<std::string_view> names;
  for (const List& list : {List{"containers", Role::App}, List{"initContainers", Role::Init},
                           List{"ephemeralContainers", Role::Ephemeral}}) {
    Taken taken{names, {}};
    const JsonArray& containers = array_at(spec, list.key);
    for (size_t i = 0; i < containers.size(); ++i) {
      append_errors(errors, validate_container(containers[i], list.role, pod, taken,
                                               path.child(list.key).index(i)));
      if (list.role == Role::Ephemeral)
        check_target(errors, containers[i], spec, path.child(list.key).index(i));
      // Init containers run one after the other, so each has the host ports to itself.
      if (list.role == Role::Init) taken.host_ports.clear();
    }
  }
  return errors;
}

}  // namespace yard
