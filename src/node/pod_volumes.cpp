#include "node/pod_volumes.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/core/resources.h"
#include "api/meta/quantity.h"
#include "api/tree.h"
#include "base/strings.h"
#include "node/pod_tokens.h"

namespace yard {
namespace {

constexpr int64_t kTokenSeconds = 3600;  // where a projection says nothing

int mode_of(const Json& source, const Json& item, int otherwise) {
  const int64_t all = int_at(source, {"defaultMode"}, otherwise);
  return static_cast<int>(int_at(item, {"mode"}, all)) & 0777;
}

// The keys of a ConfigMap or Secret as files: all, or those `items` names.
Result<void> add_object_files(LaunchVolume& volume, std::string_view kind, std::string_view name,
                              const Json& source, int mode, const PodFactsForEnv& facts) {
  const std::string_view word = kind == "Secret" ? "secret" : "configmap";
  const bool optional = bool_at(source, {"optional"});
  const SharedJson shared = facts.find(kind, name);
  const Json& object = shared;
  if (object.is_null()) {
    if (optional) return {};
    return error(Reason::NotFound, fmt::format("{} {} not found", word, quoted(name)));
  }
  const JsonArray& items = list_at(source, {"items"});
  if (items.empty()) {
    for (const std::string& key : keys_of(object))
      volume.files.push_back({key, data_of(object, key).value_or(""), mode});
    return {};
  }
  for (const Json& item : items) {
    const std::string_view key = text_at(item, {"key"});
    const auto content = data_of(object, key);
    if (!content && optional) continue;
    if (!content)
      return error(Reason::NotFound, fmt::format("{} references non-existent {} key: {}", word,
                                                 kind == "Secret" ? "secret" : "config", key));
    volume.files.push_back({std::string(text_at(item, {"path"})), *content,
                            mode_of(Json(JsonObject{{"defaultMode", mode}}), item, mode)});
  }
  return {};
}

const Json& container_named(const Json& pod, std::string_view name) {
  static const Json kNone = JsonObject();
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      if (text_at(container, {"name"}) == name) return container;
    }
  }
  return kNone;
}

Result<void> add_downward_files(LaunchVolume& volume, const Json& pod, const Json& source, int mode,
                                const PodFactsForEnv& facts) {
  for (const Json& item : list_at(source, {"items"})) {
    LaunchFile file{std::string(text_at(item, {"path"})), "",
                    mode_of(Json(JsonObject{{"defaultMode", mode}}), item, mode)};
    if (const Json* ref = find(item, "fieldRef")) {
      file.content = TRY(field_ref_text(pod, text_at(*ref, {"fieldPath"}), facts));
    } else if (const Json* resource = find(item, "resourceFieldRef")) {
      file.content =
          TRY(resource_ref_text(container_named(pod, text_at(*resource, {"containerName"})),
                                *resource, facts.allocatable));
    }
    volume.files.push_back(std::move(file));
  }
  return {};
}

Result<void> add_projected_files(LaunchVolume& volume, const Json& pod, const Json& source,
                                 int mode, const PodFactsForEnv& facts) {
  for (const Json& each : list_at(source, {"sources"})) {
    if (const Json* map = find(each, "configMap"))
      TRY(add_object_files(volume, "ConfigMap", text_at(*map, {"name"}), *map, mode, facts));
    if (const Json* secret = find(each, "secret"))
      TRY(add_object_files(volume, "Secret", text_at(*secret, {"name"}), *secret, mode, facts));
    if (const Json* downward = find(each, "downwardAPI"))
      TRY(add_downward_files(volume, pod, *downward, mode, facts));
    if (const Json* token = find(each, "serviceAccountToken")) {
      volume.files.push_back(
          {std::string(text_at(*token, {"path"})),
           facts.token ? facts.token(text_at(*token, {"audience"}),
                                     int_at(*token, {"expirationSeconds"}, kTokenSeconds))
                       : std::string(),
           mode});
    }
  }
  return {};
}

// The smallest of what the volume, the pod and the node bound; 0: nothing does.
uint64_t memory_bytes(const Json& pod, const Json& source, const PodFactsForEnv& facts) {
  uint64_t least = 0;
  const auto bound = [&](const Result<Quantity>& limit) {
    if (!limit || limit->value() <= 0) return;
    const auto bytes = static_cast<uint64_t>(limit->value());
    least = least == 0 ? bytes : std::min(least, bytes);
  };
  bound(Quantity::parse(text_at(source, {"sizeLimit"})));
  bound(Quantity::parse(text_at(facts.allocatable, {"memory"})));
  // A pod has a limit when each of its containers has one.
  const bool all_limited =
      std::ranges::all_of(list_at(pod, {"spec", "containers"}), [](const Json& container) {
        return find_path(container, {"resources", "limits", "memory"}) != nullptr;
      });
  if (const Json* spec = find(pod, "spec"); all_limited && spec != nullptr) {
    const Amounts limits = pod_amounts(*spec, "limits");
    if (const auto memory = limits.find("memory"); memory != limits.end()) bound(memory->second);
  }
  return least;
}

// A claim leads to its volume, and that to a folder of this machine.
Result<void> resolve_claim(LaunchVolume& volume, std::string_view claim_name,
                           const PodFactsForEnv& facts) {
  const SharedJson shared_claim = facts.find("PersistentVolumeClaim", claim_name);
  const Json& claim = shared_claim;
  if (claim.is_null())
    return error(Reason::NotFound,
                 fmt::format("persistentvolumeclaim {} not found", quoted(claim_name)));
  const std::string_view name = text_at(claim, {"spec", "volumeName"});
  if (name.empty() || text_at(claim, {"status", "phase"}) != "Bound")
    return error(Reason::Invalid,
                 fmt::format("PVC {} is not bound to a volume yet", quoted(claim_name)));
  const SharedJson shared_volume = facts.find("PersistentVolume", name);
  const Json& found = shared_volume;
  if (found.is_null())
    return error(Reason::NotFound, fmt::format("persistentvolume {} not found", quoted(name)));
  volume.type = LaunchVolume::Type::HostPath;
  if (const Json* host_path = find_path(found, {"spec", "hostPath"})) {
    volume.path = text_at(*host_path, {"path"});
    volume.path_type = text_at(*host_path, {"type"});
    return {};
  }
  if (const Json* local = find_path(found, {"spec", "local"})) {
    volume.path = text_at(*local, {"path"});
    volume.path_type = "Directory";
    return {};
  }
  return error(Reason::Invalid,
               fmt::format("persistentvolume {} is not on this machine: only hostPath and local "
                           "volumes can be mounted",
                           quoted(name)));
}

Result<LaunchVolume> volume_of(const Json& pod, const Json& spec, const PodFactsForEnv& facts) {
  LaunchVolume out;
  out.name = text_at(spec, {"name"});
  if (find_path(pod, {"spec", "securityContext", "fsGroup"}) != nullptr)
    out.group = int_at(pod, {"spec", "securityContext", "fsGroup"});
  if (const Json* source = find(spec, "emptyDir")) {
    if (text_at(*source, {"medium"}) == "Memory") {
      out.type = LaunchVolume::Type::Memory;
      out.bytes = memory_bytes(pod, *source, facts);
    }
    return out;
  }
  if (const Json* source = find(spec, "hostPath")) {
    out.type = LaunchVolume::Type::HostPath;
    out.path = text_at(*source, {"path"});
    out.path_type = text_at(*source, {"type"});
    return out;
  }
  if (const Json* source = find(spec, "persistentVolumeClaim")) {
    TRY(resolve_claim(out, text_at(*source, {"claimName"}), facts));
    return out;
  }
  out.type = LaunchVolume::Type::Files;
  if (const Json* source = find(spec, "configMap")) {
    TRY(add_object_files(out, "ConfigMap", text_at(*source, {"name"}), *source,
                         mode_of(*source, Json(), 0644), facts));
  } else if (const Json* secret = find(spec, "secret")) {
    TRY(add_object_files(out, "Secret", text_at(*secret, {"secretName"}), *secret,
                         mode_of(*secret, Json(), 0644), facts));
  } else if (const Json* downward = find(spec, "downwardAPI")) {
    TRY(add_downward_files(out, pod, *downward, mode_of(*downward, Json(), 0644), facts));
  } else if (const Json* projected = find(spec, "projected")) {
    TRY(add_projected_files(out, pod, *projected, mode_of(*projected, Json(), 0644), facts));
  } else {
    return error(Reason::Invalid,
                 "this kind of volume is not supported on this machine yet: use emptyDir, "
                 "hostPath, persistentVolumeClaim, configMap, secret, downwardAPI or projected");
  }
  return out;
}

}  // namespace

Result<std::vector<LaunchVolume>> pod_volumes(const Json& pod, const PodFactsForEnv& facts) {
  std::vector<LaunchVolume> out;
  for (const Json& spec : list_at(pod, {"spec", "volumes"})) {
    auto volume = volume_of(pod, spec, facts);
    if (!volume) {
      return error(volume.error().reason,
                   fmt::format("MountVolume.SetUp failed for volume {} : {}",
                               quoted(text_at(spec, {"name"})), volume.error().message));
    }
    out.push_back(std::move(*volume));
  }
  return out;
}

Result<std::vector<LaunchVolume>> token_volumes(const Json& pod, const PodFactsForEnv& facts) {
  std::vector<LaunchVolume> out;
  for (const Json& spec : list_at(pod, {"spec", "volumes"})) {
    if (!mounts_token(spec)) continue;
    LaunchVolume volume = TRY(volume_of(pod, spec, facts));
    out.push_back(std::move(volume));
  }
  return out;
}

}  // namespace yard
