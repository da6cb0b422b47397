#include "controllers/batch/job_pod.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/batch/pod_failure_policy.h"

namespace yard {
namespace {

constexpr size_t kLongestPrefix = 58;  // what generated names keep of theirs
constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";

std::string name_prefix(const JobFacts& job, std::optional<int> index) {
  const std::string suffix = index ? fmt::format("-{}-", *index) : "-";
  return job.name.substr(0, kLongestPrefix - std::min(kLongestPrefix, suffix.size())) + suffix;
}

void add_index_variable(JsonObject& container) {
  Json& env = container["env"];
  if (!env.is_array()) env = JsonArray();
  const bool defined = std::ranges::any_of(env.get_array(), [](const Json& variable) {
    return text_at(variable, {"name"}) == kIndexVariable;
  });
  if (defined) return;
  const std::string path = fmt::format("metadata.labels['{}']", kIndexKey);
  env.get_array().push_back(
      JsonObject{{"name", kIndexVariable},
                 {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", path}}}}}});
}

void set_index(JsonObject& metadata, JsonObject& spec, const JobFacts& job, int index) {
  object_at(metadata, "annotations")[kIndexKey] = std::to_string(index);
  object_at(metadata, "labels")[kIndexKey] = std::to_string(index);
  spec["hostname"] = fmt::format("{}-{}", job.name, index);
  for (const char* list : {"initContainers", "containers"}) {
    Json* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : containers->get_array())
      if (container.is_object()) add_index_variable(container.get_object());
  }
}

void set_tries(JsonObject& metadata, const JobFacts& job, const PodFacts* replaced) {
  int failures = 0, ignored = 0;
  if (replaced != nullptr) {
    const bool counts = failure_verdict(job, *replaced).counts();
    failures = replaced->index_failures + (counts ? 1 : 0);
    ignored = replaced->index_ignored_failures + (counts ? 0 : 1);
  }
  JsonObject& annotations = object_at(metadata, "annotations");
  annotations[kIndexFailures] = std::to_string(failures);
  if (ignored > 0) annotations[kIndexIgnoredFailures] = std::to_string(ignored);
}

}  // namespace

Json owner_reference(const JobFacts& job) {
  return JsonObject{{"apiVersion", kJobResource.api_version},
                    {"kind", kJobResource.kind},
                    {"name", job.name},
                    {"uid", job.uid},
                    {"controller", true},
                    {"blockOwnerDeletion", true}};
}

Json new_pod(const JobFacts& job, std::optional<int> index, const PodFacts* replaced) {
  JsonObject metadata{{"generateName", name_prefix(job, index)}, {"namespace", job.ns}};
  for (const char* part : {"labels", "annotations", "finalizers"}) {
    if (const Json* member = find_path(*job.tree, {"spec", "template", "metadata", part}))
      metadata[part] = *member;
  }
  const Json* from = find_path(*job.tree, {"spec", "template", "spec"});
  Json spec = from != nullptr ? *from : Json(JsonObject());
  if (index && spec.is_object()) set_index(metadata, spec.get_object(), job, *index);
  if (index && job.backoff_limit_per_index) set_tries(metadata, job, replaced);
  metadata["ownerReferences"] = JsonArray{owner_reference(job)};
  add_text_once(metadata, "finalizers", kTrackingFinalizer);
  return JsonObject{{"apiVersion", kPodResource.api_version},
                    {"kind", kPodResource.kind},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

ClientWrite create_pod(const JobFacts& job, std::optional<int> index, const PodFacts* replaced) {
  return {ClientWrite::Verb::Create, kPodResource, job.ns, "", new_pod(job, index, replaced)};
}

ClientWrite delete_pod(const JobFacts& job, const PodFacts& pod) {
  return {ClientWrite::Verb::Delete, kPodResource, job.ns, pod.name,
          JsonObject{{"propagationPolicy", "Background"},
                     {"preconditions", JsonObject{{"uid", pod.uid}}}}};
}

ClientWrite release_pod(const JobFacts& job, const PodFacts& pod, bool at_revision) {
  JsonArray left;
  for (const std::string& finalizer : pod.finalizers)
    if (finalizer != kTrackingFinalizer) left.emplace_back(finalizer);
  JsonObject metadata{{"uid", pod.uid}, {"finalizers", std::move(left)}};
  if (at_revision) metadata["resourceVersion"] = std::to_string(pod.revision);
  return {ClientWrite::Verb::MergePatch, kPodResource, job.ns, pod.name,
          JsonObject{{"metadata", std::move(metadata)}}};
}

std::vector<int> pending_indexes(const JobFacts& job, const JobStanding& standing, size_t count) {
  std::set<int> taken;
  for (const PodFacts* pod : standing.active)
    if (pod->index) taken.insert(*pod->index);
  if (job.replaces_only_failed) {
    for (const PodFacts* pod : standing.terminating)
      if (pod->index) taken.insert(*pod->index);
  }
  std::vector<int> out;
  for (int index = 0; index < job.completions.value_or(0) && out.size() < count; ++index) {
    if (standing.completed.contains(index) || standing.failed_indexes.contains(index) ||
        taken.contains(index))
      continue;
    out.push_back(index);
  }
  return out;
}

}  // namespace yard
