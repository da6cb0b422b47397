// What a training job may say (kubeflow-jobs 1.6, R15), in upstream's words.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/meta/names.h"
#include "api/training/training_kind.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMaxName = 63;

std::vector<std::string> texts(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

void check_name(FieldErrors& errors, const Json& job) {
  const std::string_view name = name_of(job);
  const std::vector<std::string> problems = dns1035_label_problems(name);
  if (problems.empty()) return;
  errors.push_back(
      invalid(FieldPath("metadata.name"), Json(name), "should match: " + join(problems, ",")));
}

void check_manager(FieldErrors& errors, const TrainingKind& kind, const Json& job) {
  const Json* manager = find_path(job, {"spec", "runPolicy", "managedBy"});
  if (manager == nullptr || manager->is_null()) return;
  if (text_of(*manager) == kind.manager || text_of(*manager) == kMultiKueue) return;
  errors.push_back(not_supported(FieldPath("spec.runPolicy.managedBy"), *manager,
                                 {std::string(kind.manager), std::string(kMultiKueue)}));
}

void check_containers(FieldErrors& errors, const TrainingKind& kind, const Json& spec,
                      const FieldPath& path) {
  const JsonArray& containers = list_at(spec, {"template", "spec", "containers"});
  const FieldPath at = path.child("template").child("spec").child("containers");
  if (containers.empty()) errors.push_back(required(at, "must be specified"));
  bool has_main = false;
  for (size_t i = 0; i < containers.size(); ++i) {
    if (text_at(containers[i], {"image"}).empty())
      errors.push_back(required(at.index(i).child("image"), "must be required"));
    has_main |= text_at(containers[i], {"name"}) == kind.container;
  }
  if (has_main || kind.kind == "MPIJob") return;
  errors.push_back(required(
      at, fmt::format(fmt::runtime(kind.kind == "PaddleJob"
                                       ? "must have at least one container with name \"{}\""
                                       : "must have at least one container with name {}"),
                      kind.container)));
}

std::optional<int64_t> replicas_of(const Json& spec) {
  const Json* replicas = find(spec, "replicas");
  if (replicas == nullptr || !replicas->is_int64()) return std::nullopt;
  return replicas->get_int64();
}

// MPIJob's launcher and MXJob's scheduler may leave their count out.
void check_single(FieldErrors& errors, const TrainingKind& kind, std::string_view type,
                  const Json& spec, const FieldPath& path) {
  const auto replicas = replicas_of(spec);
  if (type == kind.single && replicas != 1)
    errors.push_back(forbidden(path.child("replicas"), "must be 1"));
  if (type == "Launcher" && replicas.value_or(1) != 1)
    errors.push_back(forbidden(path.child("replicas"), "There must be only 1 launcher replica"));
  if (kind.kind == "MXJob" && type == "Scheduler" && replicas.value_or(1) > 1)
    errors.push_back(forbidden(path.child("replicas"), "more than 1 scheduler found"));
  if (kind.kind == "PyTorchJob" && type == "Worker" && replicas.value_or(1) < 1)
    errors.push_back(forbidden(path.child("replicas"), "must be at least 1"));
}

void check_replica(FieldErrors& errors, const TrainingKind& kind, std::string_view written,
                   const Json& spec, const FieldPath& path) {
  const std::string_view type = kind.ignores_case ? canonical_type(kind, written) : written;
  if (!kind.allows_other_types && std::ranges::find(kind.types, type) == kind.types.end()) {
    errors.push_back(not_supported(path, Json(written), texts(kind.types)));
    return;
  }
  check_containers(errors, kind, spec, path);
  check_single(errors, kind, type, spec, path);
}

bool has_type(const TrainingKind& kind, const JsonObject& replicas, std::string_view type) {
  return std::ranges::any_of(replicas, [&](const auto& member) {
    const std::string_view key = member.key();
    return (kind.ignores_case ? canonical_type(kind, key) : key) == type;
  });
}

void check_types_together(FieldErrors& errors, const TrainingKind& kind, const JsonObject& replicas,
                          const FieldPath& path) {
  if (!kind.required_type.empty() && !has_type(kind, replicas, kind.required_type))
    errors.push_back(required(path.key(kind.required_type), "must be present"));
  if (kind.kind == "TFJob" && has_type(kind, replicas, "Chief") &&
      has_type(kind, replicas, "Master"))
    errors.push_back(forbidden(path, "must not have more than 1 Chief or Master role"));
  std::set<std::string_view> seen;
  for (const auto& member : replicas) {
    const std::string_view type = canonical_type(kind, member.key());
    if (kind.ignores_case && !seen.insert(type).second)
      errors.push_back(duplicate(path.key(member.key()), Json(member.key())));
  }
}

void check_elastic(FieldErrors& errors, const TrainingKind& kind, const Json& job) {
  const Json* elastic = find_path(job, {"spec", "elasticPolicy"});
  if (kind.kind != "PyTorchJob" || elastic == nullptr || elastic->is_null()) return;
  if (find_path(job, {"spec", kind.replicas, "Worker"}) == nullptr) {
    errors.push_back(required(FieldPath("spec").child(kind.replicas).key("Worker"),
                              "must be configured if elastic policy is used"));
  }
  if (find(*elastic, "nProcPerNode") != nullptr && find_path(job, {"spec", "nprocPerNode"}))
    errors.push_back(forbidden(FieldPath("spec.elasticPolicy.nProcPerNode"),
                               "must not be used with spec.nprocPerNode"));
}

// The checks upstream makes at admission, or first thing in its reconciler.
FieldErrors upstream_errors(const TrainingKind& kind, const Json& job) {
  FieldErrors errors;
  check_name(errors, job);
  check_manager(errors, kind, job);
  const FieldPath path = FieldPath("spec").child(kind.replicas);
  const Json* replicas = find_path(job, {"spec", kind.replicas});
  if (replicas == nullptr || !replicas->is_object()) {
    errors.push_back(required(path, "must be required"));
    return errors;
  }
  // In a fixed order whatever the map's: leaders first, then as written.
  std::vector<std::string_view> order;
  for (const std::string_view type : kind.types)
    if (replicas->get_object().contains(type)) order.push_back(type);
  for (const auto& member : replicas->get_object())
    if (std::ranges::find(order, std::string_view(member.key())) == order.end())
      order.push_back(member.key());
  for (const std::string_view type : order)
    check_replica(errors, kind, type, replicas->get_object().at(type), path.key(type));
  check_types_together(errors, kind, replicas->get_object(), path);
  check_elastic(errors, kind, job);
  if (kind.kind == "MXJob" && text_at(job, {"spec", "jobMode"}).empty())
    errors.push_back(required(FieldPath("spec.jobMode"), "must be MXTrain or MXTune"));
  return errors;
}

void check_run_policy(FieldErrors& errors, const Json& job) {
  const Json* policy = find_path(job, {"spec", "runPolicy"});
  if (policy == nullptr || !policy->is_object()) return;
  const FieldPath path("spec.runPolicy");
  check_supported(errors, *policy, "cleanPodPolicy", path, {"All", "Running", "None"});
  for (const char* key : {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    check_not_negative(errors, *policy, key, path);
  if (const Json* gang = find(*policy, "schedulingPolicy"))
    check_not_negative(errors, *gang, "minAvailable", path.child("schedulingPolicy"));
}

void check_pytorch_words(FieldErrors& errors, const Json& job) {
  const std::string_view processes = text_at(job, {"spec", "nprocPerNode"});
  const auto number = parse_int64(processes);
  if (!processes.empty() && processes != "auto" && processes != "cpu" && processes != "gpu" &&
      (!number || *number < 1 || *number > 65536)) {
    errors.push_back(invalid(FieldPath("spec.nprocPerNode"), Json(processes),
                             "must be auto, cpu, gpu or a positive number"));
  }
  if (const Json* elastic = find_path(job, {"spec", "elasticPolicy"}))
    check_supported(errors, *elastic, "rdzvBackend", FieldPath("spec.elasticPolicy"),
                    {"c10d", "etcd", "etcd-v2", "static"});
}

void check_elastic_bounds(FieldErrors& errors, const Json& job) {
  const Json* elastic = find_path(job, {"spec", "elasticPolicy"});
  if (elastic == nullptr || !elastic->is_object()) return;
  const FieldPath path("spec.elasticPolicy");
  for (const char* key : {"minReplicas", "maxReplicas", "maxRestarts"})
    check_not_negative(errors, *elastic, key, path);
  const Json *least = find(*elastic, "minReplicas"), *most = find(*elastic, "maxReplicas");
  if (least != nullptr && most != nullptr && int_of(*least) > int_of(*most))
    errors.push_back(
        invalid(path.child("minReplicas"), *least, "must be less than or equal to maxReplicas"));
}

std::vector<std::string> restart_policies(const TrainingKind& kind) {
  if (kind.version == "v2beta1") return {"Never", "OnFailure"};
  return {"Always", "ExitCode", "Never", "OnFailure"};
}

// The pods are refused later otherwise, one by one and out of sight.
void check_template(FieldErrors& errors, const Json& spec, const FieldPath& path) {
  if (list_at(spec, {"template", "spec", "containers"}).empty()) return;
  JsonObject holder{{"template", *find(spec, "template")}};
  set_pod_template_defaults(holder);
  append_errors(errors, validate_pod_template(holder["template"], path.child("template")));
}

// The checks upstream leaves to whatever breaks afterwards.
FieldErrors further_errors(const TrainingKind& kind, const Json& job) {
  FieldErrors errors;
  check_run_policy(errors, job);
  if (kind.kind == "PyTorchJob") check_pytorch_words(errors, job);
  check_elastic_bounds(errors, job);
  size_t longest = 0;
  for (const auto& member : map_at(job, {"spec", kind.replicas})) {
    const FieldPath path = FieldPath("spec").child(kind.replicas).key(member.key());
    check_not_negative(errors, member.value(), "replicas", path);
    check_supported(errors, member.value(), "restartPolicy", path, restart_policies(kind));
    check_template(errors, member.value(), path);
    const int64_t last = std::max<int64_t>(0, replicas_of(member.value()).value_or(1) - 1);
    longest = std::max(longest, member.key().size() + std::to_string(last).size() + 2);
  }
  const std::string_view name = name_of(job);
  if (name.size() + longest > kMaxName) {
    errors.push_back(invalid(
        FieldPath("metadata.name"), Json(name),
        fmt::format(
            "is too long for the names of its replicas: those would have {} characters, and "
            "may have {}; use at most {} here",
            name.size() + longest, kMaxName, kMaxName - std::min(kMaxName, longest))));
  }
  return errors;
}

void drop_repeated(FieldErrors& errors) {
  FieldErrors kept;
  for (Cause& error : errors) {
    const bool again = std::ranges::any_of(kept, [&](const Cause& other) {
      return other.field == error.field && other.message == error.message;
    });
    if (!again) kept.push_back(std::move(error));
  }
  errors = std::move(kept);
}

}  // namespace

FieldErrors validate_training_job(const TrainingKind& kind, const Json& job, bool created) {
  FieldErrors errors = upstream_errors(kind, job);
  if (created && errors.empty()) append_errors(errors, further_errors(kind, job));
  drop_repeated(errors);
  return errors;
}

FieldErrors validate_training_update(const TrainingKind& kind, const Json& job, const Json& live) {
  // What is stored may be older than a rule; labels and finalizers change at no cost.
  if (same(find(job, "spec"), find(live, "spec"))) return {};
  FieldErrors errors = validate_training_job(kind, job, false);
  check_immutable(errors, FieldPath("spec.runPolicy.managedBy"),
                  find_path(job, {"spec", "runPolicy", "managedBy"}),
                  find_path(live, {"spec", "runPolicy", "managedBy"}));
  const auto queue = [](const Json& of) {
    return text_at(of, {"spec", "runPolicy", "schedulingPolicy", "queue"});
  };
  if (!queue(job).empty() && !queue(live).empty() && queue(job) != queue(live))
    errors.push_back(invalid(FieldPath("spec.runPolicy.schedulingPolicy.queue"), Json(queue(job)),
                             "spec.runPolicy.schedulingPolicy.queue is immutable"));
  return errors;
}

std::vector<std::string> training_warnings(const TrainingKind& kind, const Json& job) {
  std::vector<std::string> warnings;
  if (kind.kind == "PyTorchJob" && find_path(job, {"spec", "elasticPolicy", "nProcPerNode"}))
    warnings.emplace_back(
        "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead");
  for (const char* key :
       {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"}) {
    const bool own_place = kind.kind == "MPIJob" && std::string_view(key) == "cleanPodPolicy";
    if (!own_place && find_path(job, {"spec", key}) != nullptr)
      warnings.push_back(fmt::format("spec.{0} is taken as spec.runPolicy.{0}; write that", key));
  }
  for (const Cause& error : further_errors(kind, job))
    warnings.push_back(error.field + ": " + error.message);
  return warnings;
}

}  // namespace yard
