#include <algorithm>
#include <array>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kEnvNameRule =
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='";
constexpr const char* kOneAtATime = "may not have more than one field specified at a time";

const std::vector<std::string> kEnvFields = {"metadata.name",
                                             "metadata.namespace",
                                             "metadata.uid",
                                             "spec.nodeName",
                                             "spec.serviceAccountName",
                                             "status.hostIP",
                                             "status.hostIPs",
                                             "status.podIP",
                                             "status.podIPs"};
const std::vector<std::string> kVolumeFields = {"metadata.annotations", "metadata.labels",
                                                "metadata.name", "metadata.namespace",
                                                "metadata.uid"};
// Paths the API can name but neither environment nor volumes offer.
constexpr std::array<std::string_view, 3> kOtherFields = {"spec.restartPolicy",
                                                          "spec.schedulerName", "status.phase"};
const std::vector<std::string> kResourceFields = {
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory"};

bool is_env_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

// metadata.labels['k'] cut into its path and key; the key is absent for a plain path.
struct Subscript {
  std::string_view path;
  std::optional<std::string_view> key;
};

Subscript subscript_of(std::string_view text) {
  const size_t open = text.find("['");
  if (open == std::string_view::npos || !text.ends_with("']") || open + 4 > text.size()) {
    return {text, std::nullopt};
  }
  return {text.substr(0, open), text.substr(open + 2, text.size() - open - 4)};
}

FieldErrors validate_key_ref(const Json& ref, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view name = text_at(ref, {"name"});
  add_problems(errors, path.child("name"), name, dns1123_subdomain_problems(name));
  const std::string_view key = text_at(ref, {"key"});
  if (key.empty()) {
    errors.push_back(required(path.child("key")));
  } else {
    add_problems(errors, path.child("key"), key, config_key_problems(key));
  }
  return errors;
}

FieldErrors validate_value_from(const Json& variable, const FieldPath& path) {
  FieldErrors errors;
  const Json* source = find(variable, "valueFrom");
  if (!source) return errors;
  const size_t sources = members_of(source).size();
  if (const Json* ref = find(*source, "fieldRef")) {
    append_errors(errors, validate_field_ref(*ref, path.child("fieldRef"), false));
  }
  if (const Json* ref = find(*source, "resourceFieldRef")) {
    append_errors(errors, validate_resource_field_ref(*ref, path.child("resourceFieldRef"), false));
  }
  for (const char* kind : {"configMapKeyRef", "secretKeyRef"}) {
    if (const Json* ref = find(*source, kind))
      append_errors(errors, validate_key_ref(*ref, path.child(kind)));
  }
  if (sources == 0) {
    errors.push_back(invalid(path, Json(""),
                             "must specify one of: `fieldRef`, `resourceFieldRef`, "
                             "`configMapKeyRef` or `secretKeyRef`"));
  } else if (!text_at(variable, {"value"}).empty()) {
    errors.push_back(invalid(path, Json(""), "may not be specified when `value` is not empty"));
  } else if (sources > 1) {
    errors.push_back(invalid(path, Json(""), kOneAtATime));
  }
  return errors;
}

FieldErrors validate_env_from(const Json& source, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view prefix = text_at(source, {"prefix"});
  if (!is_env_name(prefix)) {
    errors.push_back(invalid(path.child("prefix"), Json(prefix), kEnvNameRule));
  }
  size_t sources = 0;
  for (const char* kind : {"configMapRef", "secretRef"}) {
    const Json* ref = find(source, kind);
    if (!ref) continue;
    ++sources;
    const std::string_view name = text_at(*ref, {"name"});
    const FieldPath place = path.child(kind).child("name");
    if (name.empty()) {
      errors.push_back(required(place));
    } else {
      add_problems(errors, place, name, dns1123_subdomain_problems(name));
    }
  }
  if (sources == 0) {
    errors.push_back(invalid(path, Json(""), "must specify one of: `configMapRef` or `secretRef`"));
  } else if (sources > 1) {
    errors.push_back(invalid(path, Json(""), kOneAtATime));
  }
  return errors;
}

// The divisor must be a unit, or the file would hold a number nobody can read back.
bool is_fit_divisor(std::string_view resource, const Quantity& divisor) {
  if (divisor.is_zero()) return true;
  static constexpr std::array<std::string_view, 13> kUnits = {
      "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  if (resource.ends_with(".cpu")) return divisor == Quantity::of(1) || divisor.milli() == 1;
  return std::ranges::any_of(
      kUnits, [&](std::string_view unit) { return *Quantity::parse(unit) == divisor; });
}

}  // namespace

FieldErrors validate_field_ref(const Json& ref, const FieldPath& path, bool in_volume) {
  FieldErrors errors;
  require_member(errors, ref, "apiVersion", path);
  const std::string_view text = text_at(ref, {"fieldPath"});
  const FieldPath place = path.child("fieldPath");
  if (text.empty()) {
    errors.push_back(required(place));
    return errors;
  }
  const std::vector<std::string>& supported = in_volume ? kVolumeFields : kEnvFields;
  const Subscript field = subscript_of(text);
  const bool has_keys = field.path == "metadata.labels" || field.path == "metadata.annotations";
  if (field.key) {
    if (!has_keys) {
      errors.push_back(invalid(place, Json(text), "does not support subscript"));
    } else {
      const bool folds = field.path == "metadata.annotations";
      const std::string key = folds ? lower(*field.key) : std::string(*field.key);
      add_problems(errors, place, *field.key, qualified_name_problems(key));
    }
  } else if (!contains(supported, text)) {
    const bool known = has_keys || contains(kEnvFields, text) ||
                       std::ranges::find(kOtherFields, text) != kOtherFields.end();
    errors.push_back(known ? not_supported(place, Json(text), supported)
                           : invalid(place, Json(text),
                                     "error converting fieldPath: field label not supported: " +
                                         std::string(text)));
  }
  return errors;
}

FieldErrors validate_resource_field_ref(const Json& ref, const FieldPath& path, bool in_volume) {
  FieldErrors errors;
  if (in_volume) require_member(errors, ref, "containerName", path);
  const std::string_view resource = text_at(ref, {"resource"});
  const bool huge_pages =
      resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
  if (resource.empty()) {
    errors.push_back(required(path.child("resource")));
  } else if (!huge_pages && !contains(kResourceFields, resource)) {
    errors.push_back(not_supported(path.child("resource"), Json(resource), kResourceFields));
  } else if (const std::string_view text = text_at(ref, {"divisor"}); !text.empty()) {
    const Result<Quantity> divisor = Quantity::parse(text);
    if (!divisor || !is_fit_divisor(resource, *divisor)) {
      const std::string name(resource.substr(resource.find('.') + 1));
      const char* units =
          name == "cpu" ? "1m and 1" : "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
      errors.push_back(invalid(path.child("divisor"), Json(text),
                               std::string("only divisor's values ") + units +
                                   " are supported with the " + name + " resource"));
    }
  }
  return errors;
}

FieldErrors validate_env(const Json& container, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& variables = array_at(container, "env");
  for (size_t i = 0; i < variables.size(); ++i) {
    const FieldPath place = path.child("env").index(i);
    const std::string_view name = text_at(variables[i], {"name"});
    if (name.empty()) {
      errors.push_back(required(place.child("name")));
    } else if (!is_env_name(name)) {
      errors.push_back(invalid(place.child("name"), Json(name), kEnvNameRule));
    }
    append_errors(errors, validate_value_from(variables[i], place.child("valueFrom")));
  }
  const JsonArray& sources = array_at(container, "envFrom");
  for (size_t i = 0; i < sources.size(); ++i) {
    append_errors(errors, validate_env_from(sources[i], path.child("envFrom").index(i)));
  }
  return errors;
}

}  // namespace yard
