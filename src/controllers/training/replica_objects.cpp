#include "controllers/training/replica_objects.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"

namespace yard {
namespace {

void append_all(JsonObject& container, const char* key, const JsonArray& more) {
  Json& list = container[key];
  if (!list.is_array()) list = JsonArray();
  for (const Json& item : more)
    list.get_array().push_back(item);
}

JsonArray* containers_of(JsonObject& spec) {
  Json* list = spec.if_contains("containers");
  return list == nullptr ? nullptr : list->if_array();
}

size_t main_position(const TrainingKind& kind, const JsonArray& containers) {
  for (size_t i = 0; i < containers.size(); ++i)
    if (text_at(containers[i], {"name"}) == kind.container) return i;
  return 0;
}

// The port other replicas connect to, where the template does not declare it.
void add_port(const TrainingKind& kind, int number, JsonObject& spec) {
  JsonArray* containers = containers_of(spec);
  if (containers == nullptr || containers->empty() || kind.port_name.empty()) return;
  Json& main = (*containers)[main_position(kind, *containers)];
  if (!main.is_object()) return;
  for (const Json& port : list_at(main, {"ports"}))
    if (text_at(port, {"name"}) == kind.port_name) return;
  append_all(main.get_object(), "ports",
             {JsonObject{{"name", kind.port_name}, {"containerPort", number}}});
}

void add_environment(const Framework& framework, const TrainingKind& kind, JsonObject& spec,
                     const JsonArray& env) {
  JsonArray* containers = containers_of(spec);
  if (containers == nullptr || env.empty()) return;
  for (Json& container : *containers) {
    if (!container.is_object()) continue;
    const bool is_main = text_at(container, {"name"}) == kind.container;
    if (framework.only_main_container && !is_main) continue;
    append_all(container.get_object(), "env", env);
    if (framework.only_main_container) return;
  }
}

std::string_view pod_restart_policy(const TrainingJob& job, const ReplicaGroup& group) {
  // Started over by us or not at all; with the whole job where that is asked for.
  if (group.restart == ReplicaRestart::ExitCode || job.gang_restart) return "Never";
  return to_text(group.restart);
}

JsonObject init_container(const TrainingSettings& settings, std::string_view host) {
  return {
      {"name", "init-pytorch"},
      {"image", settings.init_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"resources", JsonObject{{"limits", JsonObject{{"cpu", "100m"}, {"memory", "20Mi"}}},
                               {"requests", JsonObject{{"cpu", "50m"}, {"memory", "10Mi"}}}}},
      {"command",
       JsonArray{"sh", "-c",
                 fmt::format("err=1;for i in $(seq {}); do if nslookup {}; then err=0 && break; "
                             "fi;echo waiting for master; sleep 2; done; exit $err",
                             settings.init_tries, host)}}};
}

}  // namespace

Json training_owner(const TrainingJob& job) {
  return JsonObject{{"apiVersion", fmt::format("{}/{}", kTrainingGroup, job.kind->version)},
                    {"kind", job.kind->kind},
                    {"name", job.name},
                    {"uid", job.uid},
                    {"controller", true},
                    {"blockOwnerDeletion", true}};
}

JsonObject replica_labels(const TrainingJob& job, const ReplicaGroup& group, int index) {
  JsonObject labels{{kOperatorLabel, job.kind->controller},
                    {kJobNameLabel, job.name},
                    {kReplicaTypeLabel, group.label}};
  if (group.type != "Launcher") labels[kReplicaIndexLabel] = std::to_string(index);
  return labels;
}

std::string replica_selector(const TrainingJob& job, const ReplicaGroup& group) {
  return fmt::format("{}={},{}={},{}={}", kJobNameLabel, job.name, kOperatorLabel,
                     job.kind->controller, kReplicaTypeLabel, group.label);
}

PodMaker::PodMaker(const TrainingJob& job, const ReplicaGroup& group, const std::string& shared,
                   const TrainingSettings& settings, int gang_size)
    : job_(job),
      group_(group),
      shared_(shared),
      settings_(settings),
      framework_(framework_of(*job.kind)) {
  stamp_ = JsonObject{{"apiVersion", "v1"}, {"kind", "Pod"}};
  stamp_["metadata"] = JsonObject{{"namespace", job.ns}};
  stamp_["spec"] = JsonObject();
  if (group.pod_template != nullptr) {
    for (const char* part : {"labels", "annotations", "finalizers"})
      if (const Json* member = find_path(*group.pod_template, {"metadata", part}))
        stamp_["metadata"].get_object()[part] = *member;
    const Json* spec = find(*group.pod_template, "spec");
    if (spec != nullptr && spec->is_object()) stamp_["spec"] = *spec;
  }
  set_labels();
  JsonObject& annotations = object_at(stamp_["metadata"].get_object(), "annotations");
  annotations[kGangSize] = std::to_string(gang_size);
  const Json* shares = find_path(*job.tree, {"metadata", "annotations", kShareMemory});
  if (shares != nullptr) annotations.emplace(kShareMemory, *shares);
  set_spec();
  stamp_["metadata"].get_object()["ownerReferences"] = JsonArray{training_owner(job)};
}

void PodMaker::set_labels() {
  JsonObject& labels = object_at(stamp_["metadata"].get_object(), "labels");
  for (const auto& member : replica_labels(job_, group_, 0))
    labels[member.key()] = member.value();
  if (job_.gang_restart) labels[kGenerationLabel] = std::to_string(job_.generation);
}

void PodMaker::set_spec() {
  JsonObject& spec = stamp_["spec"].get_object();
  spec["restartPolicy"] = pod_restart_policy(job_, group_);
  // The gang's priority is its pods': our scheduler knows no other place for it.
  const std::string_view priority =
      text_at(*job_.tree, {"spec", "runPolicy", "schedulingPolicy", "priorityClass"});
  if (!priority.empty() && !spec.contains("priorityClassName") && !spec.contains("priority"))
    spec["priorityClassName"] = priority;
  // On the machine's own network only the leader listens there: pods of one job share a node.
  const bool is_own = !bool_at(stamp_["spec"], {"hostNetwork"});
  if (is_own || &group_ == job_.leader()) add_port(*job_.kind, group_.port, spec);
  if (framework_.waits_for == nullptr) return;
  const std::string awaited = framework_.waits_for(job_, group_, 0);
  if (awaited.empty()) return;
  if (settings_.init_image.empty()) {
    // A template that says it itself is right: "" waits for nobody.
    object_at(stamp_["metadata"].get_object(), "annotations")
        .insert(JsonObject::value_type(kWaitFor, awaited));
  } else {
    append_all(spec, "initContainers",
               {init_container(settings_, awaited.substr(0, awaited.find(':')))});
  }
}

Json PodMaker::make(int index) const {
  JsonObject pod = stamp_;
  JsonObject& metadata = pod["metadata"].get_object();
  metadata["name"] = replica_name(job_, group_, index);
  JsonObject& labels = object_at(metadata, "labels");
  if (group_.type != "Launcher") labels[kReplicaIndexLabel] = std::to_string(index);
  if (framework_.is_master != nullptr && framework_.is_master(job_, group_, index))
    labels[kJobRoleLabel] = "master";
  if (framework_.environment != nullptr)
    add_environment(framework_, *job_.kind, pod["spec"].get_object(),
                    framework_.environment(job_, shared_, group_, index));
  if (framework_.finish_pod != nullptr) framework_.finish_pod(job_, settings_, group_, index, pod);
  return pod;
}

Json replica_service(const TrainingJob& job, const ReplicaGroup& group, int index) {
  const JsonObject labels = replica_labels(job, group, index);
  JsonArray ports;
  std::set<std::string_view> names;
  const Json* main =
      group.pod_template == nullptr ? nullptr : main_container(*job.kind, *group.pod_template);
  if (main != nullptr) {
    for (const Json& port : list_at(*main, {"ports"}))
      if (names.insert(text_at(port, {"name"})).second)
        ports.push_back(JsonObject{{"name", text_at(port, {"name"})},
                                   {"port", int_at(port, {"containerPort"})}});
  }
  if (!job.kind->port_name.empty() && names.insert(job.kind->port_name).second)
    ports.push_back(JsonObject{{"name", job.kind->port_name}, {"port", group.port}});
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", JsonObject{{"name", replica_name(job, group, index)},
                              {"namespace", job.ns},
                              {"labels", labels},
                              {"ownerReferences", JsonArray{training_owner(job)}}}},
      {"spec",
       JsonObject{{"clusterIP", "None"}, {"selector", labels}, {"ports", std::move(ports)}}}};
}

ClientWrite create_object(const TrainingJob& job, Json object) {
  Resource resource{std::string(text_at(object, {"apiVersion"})),
                    std::string(text_at(object, {"kind"}))};
  std::string name(name_of(object));
  return {ClientWrite::Verb::Create, std::move(resource), job.ns, std::move(name),
          std::move(object)};
}

ClientWrite delete_replica(const TrainingJob& job, const ReplicaPod& pod) {
  return {ClientWrite::Verb::Delete, kPodResource, job.ns, pod.name,
          JsonObject{{"propagationPolicy", "Background"},
                     {"preconditions", JsonObject{{"uid", pod.uid}}}}};
}

ClientWrite force_delete_replica(const TrainingJob& job, const ReplicaPod& pod) {
  ClientWrite write = delete_replica(job, pod);
  write.object.get_object()["gracePeriodSeconds"] = 0;
  return write;
}

// A deadline that has passed: the pod's node ends it and says so, and it stays to be read.
ClientWrite stop_replica(const TrainingJob& job, const ReplicaPod& pod) {
  return {ClientWrite::Verb::MergePatch, kPodResource, job.ns, pod.name,
          JsonObject{{"metadata", JsonObject{{"uid", pod.uid}}},
                     {"spec", JsonObject{{"activeDeadlineSeconds", 1}}}}};
}

ClientWrite set_gang_size(const TrainingJob& job, const ReplicaPod& pod, int size) {
  return {ClientWrite::Verb::MergePatch, kPodResource, job.ns, pod.name,
          JsonObject{{"metadata",
                      JsonObject{{"uid", pod.uid},
                                 {"annotations", JsonObject{{kGangSize, std::to_string(size)}}}}}}};
}

ClientWrite delete_service(const TrainingJob& job, std::string_view name) {
  return {ClientWrite::Verb::Delete, kReplicaServiceResource, job.ns, std::string(name),
          JsonObject{{"propagationPolicy", "Background"}}};
}

}  // namespace yard
