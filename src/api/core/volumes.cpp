#include <algorithm>

#include "api/checks.h"
#include "api/core/pod_parts.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kMostFileMode = 0777;
constexpr const char* kFileModeRule = "must be a number between 0 and 0777 (octal), both inclusive";
constexpr const char* kNoBacksteps = "must not contain '..'";

bool has_backstep(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  return std::ranges::find(parts, "..") != parts.end();
}

// A path inside a volume: relative, and never above where it starts.
void check_local_path(FieldErrors& errors, std::string_view value, const FieldPath& path) {
  if (value.starts_with('/')) {
    errors.push_back(invalid(path, Json(value), "must be a relative path"));
  }
  if (has_backstep(value)) errors.push_back(invalid(path, Json(value), kNoBacksteps));
}

// Files the volume itself keeps begin with two dots.
void check_file_path(FieldErrors& errors, const Json& item, const FieldPath& path) {
  const std::string_view value = text_at(item, {"path"});
  const FieldPath place = path.child("path");
  if (value.empty()) {
    errors.push_back(required(place));
    return;
  }
  check_local_path(errors, value, place);
  if (value.starts_with("..") && !value.starts_with("../")) {
    errors.push_back(invalid(place, Json(value), "must not start with '..'"));
  }
}

void check_file_mode(FieldErrors& errors, const Json& parent, const char* key,
                     const FieldPath& path) {
  const Json* mode = find(parent, key);
  if (!mode || (int_of(*mode) >= 0 && int_of(*mode) <= kMostFileMode)) return;
  errors.push_back(invalid(path.child(key), *mode, kFileModeRule));
}

FieldErrors validate_key_items(const Json& source, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& items = array_at(source, "items");
  for (size_t i = 0; i < items.size(); ++i) {
    const FieldPath place = path.child("items").index(i);
    require_member(errors, items[i], "key", place);
    check_file_path(errors, items[i], place);
    check_file_mode(errors, items[i], "mode", place);
  }
  return errors;
}

FieldErrors validate_downward_items(const Json& source, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& items = array_at(source, "items");
  for (size_t i = 0; i < items.size(); ++i) {
    const FieldPath place = path.child("items").index(i);
    check_file_path(errors, items[i], place);
    const Json* field = find(items[i], "fieldRef");
    const Json* resource = find(items[i], "resourceFieldRef");
    if (field && resource) {
      errors.push_back(invalid(place, Json("resource"),
                               "fieldRef and resourceFieldRef can not be specified "
                               "simultaneously"));
    } else if (field) {
      append_errors(errors, validate_field_ref(*field, place.child("fieldRef"), true));
    } else if (resource) {
      append_errors(errors,
                    validate_resource_field_ref(*resource, place.child("resourceFieldRef"), true));
    } else {
      errors.push_back(required(place, "one of fieldRef and resourceFieldRef is required"));
    }
    check_file_mode(errors, items[i], "mode", place);
  }
  return errors;
}

FieldErrors validate_token(const Json& token, const FieldPath& path) {
  FieldErrors errors;
  const Json* seconds = find(token, "expirationSeconds");
  if (seconds && int_of(*seconds) < 600) {
    errors.push_back(invalid(path.child("expirationSeconds"), *seconds,
                             "may not specify a duration less than 10 minutes"));
  } else if (seconds && int_of(*seconds) > int64_t{1} << 32) {
    errors.push_back(invalid(path.child("expirationSeconds"), *seconds,
                             "may not specify a duration larger than 2^32 seconds"));
  }
  check_file_path(errors, token, path);
  return errors;
}

FieldErrors validate_source_files(std::string_view type, const Json& source,
                                  const FieldPath& path) {
  if (type == "serviceAccountToken") return validate_token(source, path);
  if (type == "downwardAPI") return validate_downward_items(source, path);
  FieldErrors errors;
  if (type != "configMap" && type != "secret") return errors;
  require_member(errors, source, "name", path);
  append_errors(errors, validate_key_items(source, path));
  return errors;
}

std::vector<std::string_view> file_paths(std::string_view type, const Json& source) {
  if (type == "serviceAccountToken") return {text_at(source, {"path"})};
  std::vector<std::string_view> paths;
  for (const Json& item : array_at(source, "items"))
    paths.push_back(text_at(item, {"path"}));
  return paths;
}

FieldErrors validate_projected(const Json& projected, const FieldPath& path) {
  FieldErrors errors;
  check_file_mode(errors, projected, "defaultMode", path);
  std::set<std::string_view> taken;
  const JsonArray& sources = array_at(projected, "sources");
  for (size_t i = 0; i < sources.size(); ++i) {
    const FieldPath place = path.child("sources").index(i);
    int types = 0;
    for (const auto& [type, source] : members_of(&sources[i])) {
      if (types++ > 0) {
        errors.push_back(
            forbidden(place.child(type), "may not specify more than 1 volume type per source"));
        continue;
      }
      append_errors(errors, validate_source_files(type, source, place.child(type)));
      for (std::string_view file : file_paths(type, source)) {
        if (file.empty() || taken.insert(file).second) continue;
        errors.push_back(invalid(path, Json(file), "conflicting duplicate paths"));
      }
    }
    if (types == 0) errors.push_back(required(place, "must specify a volume type per source"));
  }
  return errors;
}

FieldErrors validate_host_path(const Json& host_path, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view value = text_at(host_path, {"path"});
  if (value.empty()) {
    errors.push_back(required(path.child("path")));
  } else if (has_backstep(value)) {
    errors.push_back(invalid(path.child("path"), Json(value), kNoBacksteps));
  }
  check_supported(errors, host_path, "type", path,
                  {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                   "FileOrCreate", "Socket"});
  return errors;
}

FieldErrors validate_nfs(const Json& nfs, const FieldPath& path) {
  FieldErrors errors;
  require_member(errors, nfs, "server", path);
  require_member(errors, nfs, "path", path);
  const std::string_view place = text_at(nfs, {"path"});
  if (!place.empty() && !place.starts_with('/')) {
    errors.push_back(invalid(path.child("path"), Json(place), "must be an absolute path"));
  }
  return errors;
}

FieldErrors validate_empty_dir(const Json& empty_dir, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view text = text_at(empty_dir, {"sizeLimit"});
  if (text.empty()) return errors;
  const Result<Quantity> limit = Quantity::parse(text);
  if (!limit || limit->is_negative()) {
    errors.push_back(
        forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity"));
  }
  return errors;
}

FieldErrors validate_source(std::string_view type, const Json& source, const FieldPath& path) {
  FieldErrors errors;
  if (type == "emptyDir") return validate_empty_dir(source, path);
  if (type == "hostPath") return validate_host_path(source, path);
  if (type == "projected") return validate_projected(source, path);
  if (type == "nfs") return validate_nfs(source, path);
  if (type == "secret" || type == "configMap") {
    require_member(errors, source, type == "secret" ? "secretName" : "name", path);
    check_file_mode(errors, source, "defaultMode", path);
    append_errors(errors, validate_key_items(source, path));
  } else if (type == "downwardAPI") {
    check_file_mode(errors, source, "defaultMode", path);
    append_errors(errors, validate_downward_items(source, path));
  } else if (type == "persistentVolumeClaim") {
    require_member(errors, source, "claimName", path);
  } else if (type == "ephemeral" && !find(source, "volumeClaimTemplate")) {
    errors.push_back(required(path.child("volumeClaimTemplate")));
  } else if (type == "image") {
    require_member(errors, source, "reference", path);
  }
  return errors;
}

FieldErrors validate_volume(const Json& volume, const FieldPath& path) {
  FieldErrors errors;
  int sources = 0;
  for (const auto& [type, source] : members_of(&volume)) {
    if (type == "name") continue;
    if (sources++ > 0) {
      errors.push_back(forbidden(path.child(type), "may not specify more than 1 volume type"));
    } else {
      append_errors(errors, validate_source(type, source, path.child(type)));
    }
  }
  if (sources == 0) errors.push_back(required(path, "must specify a volume type"));
  return errors;
}

FieldErrors validate_mount(const Json& mount, const VolumeNames& volumes, bool privileged,
                           const FieldPath& path) {
  FieldErrors errors;
  const std::string_view name = text_at(mount, {"name"});
  if (name.empty()) {
    errors.push_back(required(path.child("name")));
  } else if (!volumes.contains(name)) {
    errors.push_back(not_found(path.child("name"), Json(name)));
  }
  require_member(errors, mount, "mountPath", path);
  const std::string_view sub_path = text_at(mount, {"subPath"});
  const std::string_view expression = text_at(mount, {"subPathExpr"});
  check_local_path(errors, sub_path, path.child("subPath"));
  if (!expression.empty()) {
    if (!sub_path.empty()) {
      errors.push_back(invalid(path.child("subPathExpr"), Json(expression),
                               "subPathExpr and subPath are mutually exclusive"));
    }
    check_local_path(errors, expression, path.child("subPathExpr"));
  }
  check_supported(errors, mount, "mountPropagation", path,
                  {"Bidirectional", "HostToContainer", "None"});
  if (text_at(mount, {"mountPropagation"}) == "Bidirectional" && !privileged) {
    errors.push_back(forbidden(path.child("mountPropagation"),
                               "Bidirectional mount propagation is available only to privileged "
                               "containers"));
  }
  check_supported(errors, mount, "recursiveReadOnly", path, {"Disabled", "Enabled", "IfPossible"});
  return errors;
}

}  // namespace

VolumeNames volume_names(const Json& spec) {
  VolumeNames names;
  for (const Json& volume : array_at(spec, "volumes")) {
    names.emplace(text_at(volume, {"name"}));
  }
  return names;
}

FieldErrors validate_volumes(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  std::set<std::string_view> seen;
  const JsonArray& volumes = array_at(spec, "volumes");
  for (size_t i = 0; i < volumes.size(); ++i) {
    const FieldPath place = path.child("volumes").index(i);
    append_errors(errors, validate_volume(volumes[i], place));
    const std::string_view name = text_at(volumes[i], {"name"});
    if (name.empty()) {
      errors.push_back(required(place.child("name")));
      continue;
    }
    add_problems(errors, place.child("name"), name, dns1123_label_problems(name));
    if (!seen.insert(name).second) errors.push_back(duplicate(place.child("name"), Json(name)));
  }
  return errors;
}

FieldErrors validate_volume_mounts(const Json& container, const VolumeNames& volumes,
                                   const FieldPath& path) {
  FieldErrors errors;
  const bool privileged = bool_at(container, {"securityContext", "privileged"});
  std::set<std::string_view> taken;
  const JsonArray& mounts = array_at(container, "volumeMounts");
  for (size_t i = 0; i < mounts.size(); ++i) {
    const FieldPath place = path.child("volumeMounts").index(i);
    append_errors(errors, validate_mount(mounts[i], volumes, privileged, place));
    const std::string_view target = text_at(mounts[i], {"mountPath"});
    if (!target.empty() && !taken.insert(target).second) {
      errors.push_back(invalid(place.child("mountPath"), Json(target), "must be unique"));
    }
  }
  const JsonArray& devices = array_at(container, "volumeDevices");
  for (size_t i = 0; i < devices.size(); ++i) {
    const FieldPath place = path.child("volumeDevices").index(i);
    require_member(errors, devices[i], "name", place);
    require_member(errors, devices[i], "devicePath", place);
    const std::string_view target = text_at(devices[i], {"devicePath"});
    if (!target.empty() && !taken.insert(target).second) {
      errors.push_back(invalid(place.child("devicePath"), Json(target),
                               "must not already exist in volumeMounts"));
    }
  }
  return errors;
}

}  // namespace yard
