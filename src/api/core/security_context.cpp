#include <algorithm>
#include <limits>
#include <set>

#include "api/checks.h"
#include "api/core/pod_parts.h"

namespace yard {
namespace {

constexpr int64_t kMostId = std::numeric_limits<int32_t>::max();

FieldErrors validate_seccomp(const Json& context, const FieldPath& path) {
  FieldErrors errors;
  const Json* profile = find(context, "seccompProfile");
  if (!profile) return errors;
  const FieldPath place = path.child("seccompProfile");
  const std::string_view type = text_at(*profile, {"type"});
  if (type.empty()) {
    errors.push_back(required(place.child("type"), "type is required when seccompProfile is set"));
    return errors;
  }
  check_supported(errors, *profile, "type", place, {"Localhost", "RuntimeDefault", "Unconfined"});
  const Json* file = find(*profile, "localhostProfile");
  if (type == "Localhost" && !file) {
    errors.push_back(
        required(place.child("localhostProfile"), "must be set when seccomp type is Localhost"));
  } else if (type != "Localhost" && file) {
    errors.push_back(invalid(place.child("localhostProfile"), *file,
                             "can only be set when seccomp type is Localhost"));
  }
  return errors;
}

FieldErrors validate_ids(const Json& context, const FieldPath& path) {
  FieldErrors errors;
  for (const char* key : {"runAsUser", "runAsGroup", "fsGroup"}) {
    check_within(errors, context, key, path, 0, kMostId);
  }
  return errors;
}

bool adds_sys_admin(const Json& context) {
  const Json* capabilities = find(context, "capabilities");
  if (!capabilities) return false;
  return std::ranges::any_of(array_at(*capabilities, "add"),
                             [](const Json& name) { return text_of(name) == "CAP_SYS_ADMIN"; });
}

}  // namespace

FieldErrors validate_container_security_context(const Json& container, const FieldPath& path) {
  FieldErrors errors;
  const Json* context = find(container, "securityContext");
  if (!context) return errors;
  const FieldPath place = path.child("securityContext");
  append_errors(errors, validate_ids(*context, place));
  check_supported(errors, *context, "procMount", place, {"Default", "Unmasked"});
  append_errors(errors, validate_seccomp(*context, place));
  if (!bool_at(*context, {"allowPrivilegeEscalation"}, true)) {
    if (bool_at(*context, {"privileged"})) {
      errors.push_back(invalid(place, *context,
                               "cannot set `allowPrivilegeEscalation` to false and `privileged` "
                               "to true"));
    }
    if (adds_sys_admin(*context)) {
      errors.push_back(invalid(place, *context,
                               "cannot set `allowPrivilegeEscalation` to false and "
                               "`capabilities.Add` CAP_SYS_ADMIN"));
    }
  }
  return errors;
}

namespace {

// Segments of small letters, digits, - and _, parted by dots or slashes; - and _ only inside.
bool is_sysctl_name(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool inside_segment = false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (is_plain(c)) {
      inside_segment = true;
      continue;
    }
    const bool parts = c == '.' || c == '/';
    if (!inside_segment || (!parts && c != '-' && c != '_')) return false;
    if (parts && !is_plain(name[i - 1])) return false;
    inside_segment = !parts;
  }
  return !name.empty() && name.size() <= 253 && is_plain(name.back());
}

FieldErrors validate_sysctls(const Json& context, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& sysctls = array_at(context, "sysctls");
  std::set<std::string_view> names;
  for (size_t i = 0; i < sysctls.size(); ++i) {
    const std::string_view name = text_at(sysctls[i], {"name"});
    const FieldPath place = path.child("sysctls").index(i).child("name");
    if (name.empty()) {
      errors.push_back(required(place));
    } else if (!is_sysctl_name(name)) {
      errors.push_back(
          invalid(place, Json(name),
                  "must have at most 253 characters and match regex "
                  "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"));
    } else if (!names.insert(name).second) {
      errors.push_back(duplicate(place, Json(name)));
    }
  }
  return errors;
}

}  // namespace

FieldErrors validate_pod_security_context(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  if (bool_at(spec, {"shareProcessNamespace"}) && bool_at(spec, {"hostPID"})) {
    errors.push_back(invalid(path.child("shareProcessNamespace"), Json(true),
                             "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  const Json* context = find(spec, "securityContext");
  if (!context) return errors;
  const FieldPath place = path.child("securityContext");
  append_errors(errors, validate_ids(*context, place));
  const JsonArray& groups = array_at(*context, "supplementalGroups");
  for (size_t i = 0; i < groups.size(); ++i) {
    if (int_of(groups[i]) >= 0 && int_of(groups[i]) <= kMostId) continue;
    errors.push_back(invalid(place.child("supplementalGroups").index(i), groups[i],
                             "must be between 0 and 2147483647, inclusive"));
  }
  check_supported(errors, *context, "fsGroupChangePolicy", place, {"Always", "OnRootMismatch"});
  check_supported(errors, *context, "supplementalGroupsPolicy", place, {"Merge", "Strict"});
  append_errors(errors, validate_sysctls(*context, place));
  append_errors(errors, validate_seccomp(*context, place));
  return errors;
}

}  // namespace yard
