#include "api/checks.h"
#include "api/core/pod_admission.h"
#include "api/core/pod_template.h"
#include "api/core/pod_update.h"
#include "api/core/resources.h"
#include "api/kinds.h"
#include "api/tables.h"

namespace yard {
namespace {

const Json& spec_of(const Json& pod) {
  static const Json kNone = JsonObject();
  const Json* spec = find(pod, "spec");
  return spec ? *spec : kNone;
}

JsonObject first_status(const Json& pod, Time now) {
  JsonObject status{{"phase", "Pending"}, {"qosClass", qos_class(spec_of(pod))}};
  if (!array_at(spec_of(pod), "schedulingGates").empty()) {
    status["conditions"] = JsonArray{
        JsonObject{{"type", "PodScheduled"},
                   {"status", "False"},
                   {"lastProbeTime", nullptr},
                   {"lastTransitionTime", rfc3339(now)},
                   {"reason", "SchedulingGated"},
                   {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  }
  return status;
}

Result<void> prepare_pod_create(Json& pod, const Admission& admission) {
  TRY(apply_limit_ranges(pod, admission.cluster));
  TRY(admit_service_account(pod, admission));
  TRY(admit_priority(pod, admission.cluster));
  add_default_tolerations(pod);
  TRY(admit_security(pod, admission));
  pod.as_object()["status"] = first_status(pod, admission.now);
  return {};
}

// Admission's own additions survive a client that sends the pod without them.
Result<void> prepare_pod_update(Json& pod, const Json& live, const Admission&) {
  JsonObject& spec = object_at(pod.as_object(), "spec");
  for (const char* key : {"priority", "preemptionPolicy"}) {
    const Json* before = find(spec_of(live), key);
    if (before && !spec.contains(key)) spec[key] = *before;
  }
  add_default_tolerations(pod);
  if (const Json* qos = find_path(live, {"status", "qosClass"})) {
    object_at(pod.as_object(), "status").emplace("qosClass", *qos);
  }
  return {};
}

FieldErrors validate_pod(const Json& pod) {
  const FieldPath path("spec");
  FieldErrors errors = validate_pod_spec(spec_of(pod), path);
  if (!array_at(spec_of(pod), "schedulingGates").empty() &&
      !text_at(pod, {"spec", "nodeName"}).empty()) {
    errors.push_back(forbidden(path.child("nodeName"),
                               "cannot be set until all schedulingGates have been cleared"));
  }
  return errors;
}

// A spec that stays as it is was valid when it came: labels and finalizers change at no cost.
FieldErrors validate_changed_pod(const Json& pod, const Json& live) {
  if (equal(spec_of(pod), spec_of(live))) return {};
  FieldErrors errors = validate_pod_update(pod, live);
  return errors.empty() ? validate_pod(pod) : errors;
}

std::string joined_ips(const Json& pod) {
  std::string ips;
  const Json* status = find(pod, "status");
  if (!status) return ips;
  for (const Json& entry : array_at(*status, "podIPs")) {
    if (!ips.empty()) ips += ',';
    ips += text_at(entry, {"ip"});
  }
  return ips;
}

std::vector<std::string> pod_field_values(const Json& pod) {
  const auto text = [&](const char* part, const char* key) {
    return std::string(text_at(pod, {part, key}));
  };
  return {text("spec", "nodeName"),
          text("spec", "nodeName"),
          text("spec", "restartPolicy"),
          text("spec", "schedulerName"),
          text("spec", "serviceAccountName"),
          bool_at(pod, {"spec", "hostNetwork"}) ? "true" : "false",
          text("status", "phase"),
          text("status", "podIP"),
          joined_ips(pod),
          text("status", "nominatedNodeName")};
}

// Only what is served: clients take what discovery lists at its word.
std::vector<Subresource> pod_subresources() {
  const std::vector<std::string> change = {"get", "patch", "update"};
  const std::vector<std::string> stream = {"create", "get"};
  return {
      {"attach", "PodAttachOptions", "", "v1", stream},
      {"binding", "Binding", "", "v1", {"create"}},
      {"eviction", "Eviction", "policy", "v1", {"create"}},
      {"exec", "PodExecOptions", "", "v1", stream},
      {"log", "", "", "", {"get"}},
      {"portforward", "PodPortForwardOptions", "", "v1", stream},
      {"status", "", "", "", change},
  };
}

}  // namespace

Kind pod_kind() {
  Kind kind;
  kind.version = "v1";
  kind.kind = "Pod";
  kind.list_kind = "PodList";
  kind.plural = kind.storage = "pods";
  kind.singular = "pod";
  kind.short_names = {"po"};
  kind.categories = {"all"};
  kind.verbs = all_verbs();
  kind.subresources = pod_subresources();
  kind.schema = builtin_schemas().find("core.v1.Pod");
  kind.tracks_generation = true;
  kind.deletes_gracefully = true;
  kind.returns_deleted_object = true;
  kind.selectable_fields = {"spec.nodeName",
                            "spec.host",
                            "spec.restartPolicy",
                            "spec.schedulerName",
                            "spec.serviceAccountName",
                            "spec.hostNetwork",
                            "status.phase",
                            "status.podIP",
                            "status.podIPs",
                            "status.nominatedNodeName"};
  kind.field_values = pod_field_values;
  kind.columns = pod_columns();
  kind.cells = pod_cells;
  kind.set_defaults = [](Json& pod) {
    set_pod_spec_defaults(object_at(pod.as_object(), "spec"), true);
  };
  kind.prepare_create = prepare_pod_create;
  kind.prepare_update = prepare_pod_update;
  kind.validate = validate_pod;
  kind.validate_update = validate_changed_pod;
  kind.validate_status_update = validate_pod_status_update;
  kind.warnings = [](const Json& pod) {
    return pod_spec_warnings(spec_of(pod), FieldPath("spec"));
  };
  return kind;
}

Kind pod_template_kind() {
  Kind kind;
  kind.version = "v1";
  kind.kind = "PodTemplate";
  kind.list_kind = "PodTemplateList";
  kind.plural = kind.storage = "podtemplates";
  kind.singular = "podtemplate";
  kind.verbs = all_verbs();
  kind.schema = builtin_schemas().find("core.v1.PodTemplate");
  kind.tracks_generation = true;
  kind.returns_deleted_object = true;
  kind.columns = default_columns();
  kind.cells = default_cells;
  kind.set_defaults = [](Json& object) { set_pod_template_defaults(object.as_object()); };
  kind.validate = [](const Json& object) {
    const Json* pod_template = find(object, "template");
    return validate_pod_template(pod_template ? *pod_template : Json(JsonObject()),
                                 FieldPath("template"));
  };
  kind.warnings = [](const Json& object) {
    const Json* spec = find_path(object, {"template", "spec"});
    return spec ? pod_spec_warnings(*spec, FieldPath("template.spec")) : std::vector<std::string>();
  };
  return kind;
}

}  // namespace yard
