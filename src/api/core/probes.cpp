#include <algorithm>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_parts.h"

namespace yard {
namespace {

constexpr int64_t kMostPort = 65535;

std::string not_a_port() {
  return fmt::format("must be between 1 and {}, inclusive", kMostPort);
}

// A port is a number or the name of one of the container's ports.
void validate_port(FieldErrors& errors, const Json& parent, const FieldPath& path) {
  const Json* port = find(parent, "port");
  const FieldPath place = path.child("port");
  if (port && port->is_string()) {
    add_problems(errors, place, text_of(*port), port_name_problems(text_of(*port)));
    return;
  }
  const int64_t number = port ? int_of(*port) : 0;
  if (number < 1 || number > kMostPort) {
    errors.push_back(invalid(place, Json(number), not_a_port()));
  }
}

FieldErrors validate_http_get(const Json& get, const FieldPath& path) {
  FieldErrors errors;
  require_member(errors, get, "path", path);
  validate_port(errors, get, path);
  check_supported(errors, get, "scheme", path, {"HTTP", "HTTPS"});
  for (const Json& header : array_at(get, "httpHeaders")) {
    const std::string_view name = text_at(header, {"name"});
    const bool plain = std::ranges::all_of(
        name, [](unsigned char c) { return (c < 128 && std::isalnum(c)) || c == '-'; });
    if (name.empty() || !plain) {
      errors.push_back(invalid(path.child("httpHeaders"), Json(name),
                               "a valid HTTP header must consist of alphanumeric characters or "
                               "'-' (e.g. 'X-Header-Name', regex used for validation is "
                               "'[-A-Za-z0-9]+')"));
    }
  }
  return errors;
}

FieldErrors validate_sleep(const Json& sleep, int64_t grace_seconds, const FieldPath& path) {
  const int64_t seconds = int_at(sleep, {"seconds"});
  if (seconds >= 0 && seconds <= grace_seconds) return {};
  return {invalid(path, Json(seconds),
                  fmt::format("must be non-negative and less than terminationGracePeriodSeconds "
                              "({})",
                              grace_seconds))};
}

// A probe's or a hook's one way to act.
FieldErrors validate_handler(const Json& handler, int64_t grace_seconds, const FieldPath& path) {
  FieldErrors errors;
  int handlers = 0;
  for (const char* type : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    const Json* action = find(handler, type);
    if (!action) continue;
    const FieldPath place = path.child(type);
    const std::string_view kind = type;
    if (handlers++ > 0) {
      errors.push_back(forbidden(place, "may not specify more than 1 handler type"));
    } else if (kind == "exec") {
      if (array_at(*action, "command").empty()) errors.push_back(required(place.child("command")));
    } else if (kind == "httpGet") {
      append_errors(errors, validate_http_get(*action, place));
    } else if (kind == "sleep") {
      append_errors(errors, validate_sleep(*action, grace_seconds, place));
    } else {
      validate_port(errors, *action, place);
    }
  }
  if (handlers == 0) errors.push_back(required(path, "must specify a handler type"));
  return errors;
}

FieldErrors validate_probe(const Json& probe, const FieldPath& path) {
  FieldErrors errors = validate_handler(probe, 0, path);
  for (const char* key : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                          "successThreshold", "failureThreshold"}) {
    check_not_negative(errors, probe, key, path);
  }
  const Json* grace = find(probe, "terminationGracePeriodSeconds");
  if (grace && int_of(*grace) <= 0) {
    errors.push_back(
        invalid(path.child("terminationGracePeriodSeconds"), *grace, "must be greater than 0"));
  }
  return errors;
}

void require_single_success(FieldErrors& errors, const Json& probe, const FieldPath& path) {
  const Json* threshold = find(probe, "successThreshold");
  if (!threshold || int_of(*threshold) == 1) return;
  errors.push_back(invalid(path.child("successThreshold"), *threshold, "must be 1"));
}

}  // namespace

FieldErrors validate_probes(const Json& container, const FieldPath& path) {
  FieldErrors errors;
  for (const char* key : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    const Json* probe = find(container, key);
    if (!probe) continue;
    const FieldPath place = path.child(key);
    append_errors(errors, validate_probe(*probe, place));
    if (std::string_view(key) != "readinessProbe") {
      require_single_success(errors, *probe, place);
    } else if (const Json* grace = find(*probe, "terminationGracePeriodSeconds")) {
      errors.push_back(invalid(place.child("terminationGracePeriodSeconds"), *grace,
                               "must not be set for readinessProbes"));
    }
  }
  return errors;
}

FieldErrors validate_lifecycle(const Json& container, int64_t grace_seconds,
                               const FieldPath& path) {
  FieldErrors errors;
  const Json* lifecycle = find(container, "lifecycle");
  if (!lifecycle) return errors;
  for (const char* hook : {"postStart", "preStop"}) {
    if (const Json* handler = find(*lifecycle, hook)) {
      append_errors(errors,
                    validate_handler(*handler, grace_seconds, path.child("lifecycle").child(hook)));
    }
  }
  return errors;
}

}  // namespace yard
