#pragma once
// The validation of a pod spec by topic, one file each. Only validate_pod_spec and its neighbours
// include this.

#include <set>
#include <string>
#include <string_view>

#include "api/field_errors.h"

namespace yard {

using VolumeNames = std::set<std::string, std::less<>>;

// What a container's validation needs to know of its pod.
struct PodSpecFacts {
  VolumeNames volumes;
  int64_t grace_seconds = 30;
  bool host_network = false;
};

// Containers (containers.cpp). All three lists, with names unique over them.
FieldErrors validate_containers(const Json& spec, const PodSpecFacts& pod, const FieldPath& path);

// Environment (env.cpp): env and envFrom of one container.
FieldErrors validate_env(const Json& container, const FieldPath& path);
// A downward API field: the environment and volumes offer different ones.
FieldErrors validate_field_ref(const Json& ref, const FieldPath& path, bool in_volume);
FieldErrors validate_resource_field_ref(const Json& ref, const FieldPath& path, bool in_volume);

// Probes and lifecycle hooks (probes.cpp).
FieldErrors validate_probes(const Json& container, const FieldPath& path);
FieldErrors validate_lifecycle(const Json& container, int64_t grace_seconds, const FieldPath& path);

// Volumes (volumes.cpp): the volumes, and the mounts of one container.
VolumeNames volume_names(const Json& spec);
FieldErrors validate_volumes(const Json& spec, const FieldPath& path);
FieldErrors validate_volume_mounts(const Json& container, const VolumeNames& volumes,
                                   const FieldPath& path);

// Requests and limits (resources.cpp).
FieldErrors validate_resources(const Json* resources, const FieldPath& path);

// Placement (placement.cpp): affinity, tolerations, gates, spread constraints.
FieldErrors validate_placement(const Json& spec, const FieldPath& path);

// Security contexts (security_context.cpp).
FieldErrors validate_pod_security_context(const Json& spec, const FieldPath& path);
FieldErrors validate_container_security_context(const Json& container, const FieldPath& path);

}  // namespace yard
