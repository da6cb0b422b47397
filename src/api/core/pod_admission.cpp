#include "api/core/pod_admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/checks.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kTokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr int kTokenSeconds = 3607;
constexpr int kTolerationSeconds = 300;
constexpr const char* kPreemptLower = "PreemptLowerPriority";

JsonObject& spec_of(Json& pod) {
  return object_at(pod.as_object(), "spec");
}

JsonArray& list_in(JsonObject& parent, std::string_view key) {
  Json& member = parent[key];
  if (!member.is_array()) member = JsonArray();
  return member.get_array();
}

Json token_volume(const std::string& name) {
  return JsonObject{
      {"name", name},
      {"projected",
       JsonObject{
           {"defaultMode", 420},
           {"sources",
            JsonArray{
                JsonObject{{"serviceAccountToken",
                            JsonObject{{"expirationSeconds", kTokenSeconds}, {"path", "token"}}}},
                JsonObject{{"configMap",
                            JsonObject{{"name", "kube-root-ca.crt"},
                                       {"items", JsonArray{JsonObject{{"key", "ca.crt"},
                                                                      {"path", "ca.crt"}}}}}}},
                JsonObject{{"downwardAPI",
                            JsonObject{{"items",
                                        JsonArray{JsonObject{
                                            {"path", "namespace"},
                                            {"fieldRef",
                                             JsonObject{{"apiVersion", "v1"},
                                                        {"fieldPath", "metadata.namespace"}}}}}}}}},
            }}}}};
}

bool mounts_token(const JsonObject& container) {
  const Json* mounts = container.if_contains("volumeMounts");
  if (!mounts || !mounts->is_array()) return false;
  return std::ranges::any_of(mounts->get_array(), [](const Json& mount) {
    return text_at(mount, {"mountPath"}) == kTokenMountPath;
  });
}

// A container that mounts something there itself is left alone, and so is the pod when all do.
void mount_token(JsonObject& spec, Random& random) {
  std::vector<JsonObject*> without;
  for (const char* list : {"initContainers", "containers"}) {
    Json* containers = spec.if_contains(list);
    if (!containers || !containers->is_array()) continue;
    for (Json& container : containers->get_array()) {
      JsonObject* object = container.if_object();
      if (object && !mounts_token(*object)) without.push_back(object);
    }
  }
  if (without.empty()) return;
  const std::string volume = "kube-api-access-" + random.name_suffix(5);
  for (JsonObject* container : without) {
    list_in(*container, "volumeMounts")
        .push_back(
            JsonObject{{"mountPath", kTokenMountPath}, {"name", volume}, {"readOnly", true}});
  }
  list_in(spec, "volumes").push_back(token_volume(volume));
}

struct Priority {
  std::string class_name;
  int32_t value = 0;
  std::string preemption_policy = kPreemptLower;
};

Priority priority_from(std::string_view name, const ClusterFacts::PriorityClass& from) {
  return {std::string(name), from.value,
          from.preemption_policy.empty() ? kPreemptLower : from.preemption_policy};
}

// Of several global defaults the lowest counts.
Priority default_priority(const ClusterFacts& cluster) {
  Priority lowest;
  bool found = false;
  for (const auto& [name, row] : cluster.priority_classes) {
    if (!row.global_default || (found && row.value >= lowest.value)) continue;
    lowest = priority_from(name, row);
    found = true;
  }
  return lowest;
}

std::optional<Priority> priority_of_class(const ClusterFacts& cluster, std::string_view name) {
  if (auto at = cluster.priority_classes.find(name); at != cluster.priority_classes.end()) {
    return priority_from(name, at->second);
  }
  // These two exist in every cluster, whether or not their objects were made yet.
  if (name == "system-node-critical") return Priority{std::string(name), 2000001000};
  if (name == "system-cluster-critical") return Priority{std::string(name), 2000000000};
  return std::nullopt;
}

bool tolerates(const JsonArray& tolerations, std::string_view taint) {
  return std::ranges::any_of(tolerations, [&](const Json& toleration) {
    const std::string_view key = text_at(toleration, {"key"});
    const std::string_view effect = text_at(toleration, {"effect"});
    return (key == taint || key.empty()) && (effect == "NoExecute" || effect.empty());
  });
}

}  // namespace

Error pod_forbidden(const Json& pod, std::string_view why) {
  const std::string_view name = text_at(pod, {"metadata", "name"});
  Error refusal = error(Reason::Forbidden, fmt::format("pods \"{}\" is forbidden: {}", name, why));
  refusal.details.name = name;
  refusal.details.kind = "pods";
  return refusal;
}

Result<void> admit_service_account(Json& pod, const Admission& admission) {
  JsonObject& spec = spec_of(pod);
  if (text_in(spec, "serviceAccountName").empty()) spec["serviceAccountName"] = "default";
  const std::string name(text_in(spec, "serviceAccountName"));
  spec["serviceAccount"] = name;
  const std::string key = fmt::format("{}/{}", text_at(pod, {"metadata", "namespace"}), name);
  const auto account = admission.cluster.service_accounts.find(key);
  if (account == admission.cluster.service_accounts.end()) {
    return pod_forbidden(
        pod, fmt::format("error looking up service account {}: serviceaccount \"{}\" not found",
                         key, name));
  }
  const Json* own = spec.if_contains("imagePullSecrets");
  const bool has_secrets = own && own->is_array() && !own->get_array().empty();
  if (!has_secrets && !account->second.image_pull_secrets.empty()) {
    JsonArray& secrets = list_in(spec, "imagePullSecrets");
    for (const std::string& secret : account->second.image_pull_secrets) {
      secrets.push_back(JsonObject{{"name", secret}});
    }
  }
  const bool automount =
      bool_at(pod, {"spec", "automountServiceAccountToken"}, account->second.automount_token);
  if (automount) mount_token(spec, admission.random);
  return {};
}

Result<void> admit_security(const Json& pod, const Admission& admission) {
  const auto space = admission.cluster.namespaces.find(text_at(pod, {"metadata", "namespace"}));
  if (space == admission.cluster.namespaces.end()) return {};
  const auto& [enforce, warn] = space->second.security;
  if (const std::string breaches = security_breaches(pod, enforce); !breaches.empty()) {
    return pod_forbidden(pod,
                         fmt::format("violates PodSecurity \"{}\": {}", enforce.text(), breaches));
  }
  if (const std::string breaches = security_breaches(pod, warn); !breaches.empty())
    admission.warnings.push_back(security_warning(warn, breaches));
  return {};
}

Result<void> admit_priority(Json& pod, const ClusterFacts& cluster) {
  JsonObject& spec = spec_of(pod);
  const std::string name(text_in(spec, "priorityClassName"));
  const std::optional<Priority> found =
      name.empty() ? default_priority(cluster) : priority_of_class(cluster, name);
  if (!found)
    return pod_forbidden(pod, fmt::format("no PriorityClass with name {} was found", name));
  if (const Json* value = spec.if_contains("priority"); value && int_of(*value) != found->value) {
    return pod_forbidden(
        pod, fmt::format("the integer value of priority ({}) must not be provided in pod spec; "
                         "priority admission controller computed {} from the given PriorityClass "
                         "name",
                         int_of(*value), found->value));
  }
  if (const std::string_view policy = text_in(spec, "preemptionPolicy");
      !policy.empty() && policy != found->preemption_policy) {
    return pod_forbidden(
        pod, fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod "
                         "spec; priority admission controller computed {} from the given "
                         "PriorityClass name",
                         policy, found->preemption_policy));
  }
  if (!found->class_name.empty()) spec["priorityClassName"] = found->class_name;
  spec["priority"] = found->value;
  spec["preemptionPolicy"] = found->preemption_policy;
  return {};
}

void add_default_tolerations(Json& pod) {
  JsonArray& tolerations = list_in(spec_of(pod), "tolerations");
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    if (tolerates(tolerations, taint)) continue;
    tolerations.push_back(JsonObject{{"effect", "NoExecute"},
                                     {"key", taint},
                                     {"operator", "Exists"},
                                     {"tolerationSeconds", kTolerationSeconds}});
  }
  if (tolerations.empty()) spec_of(pod).erase("tolerations");
}

}  // namespace yard
