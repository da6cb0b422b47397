// apps/v1. Stored and listed; nothing here makes pods of them.

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/selectors.h"
#include "api/tables.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kText =
    "Trainyard keeps this object but runs no controller for it: no pods are made. Jobs and "
    "training "
    "jobs run here";

FieldErrors validate_selector(const Json& object, std::string_view word) {
  FieldErrors errors;
  const FieldPath path("spec.selector");
  const Json* selector = find_path(object, {"spec", "selector"});
  if (selector == nullptr || !selector->is_object()) {
    errors.push_back(required(path));
    return errors;
  }
  append_errors(errors, validate_label_selector(selector, path));
  if (array_at(*selector, "matchExpressions").empty() &&
      members_at(*selector, "matchLabels").empty()) {
    errors.push_back(
        invalid(path, *selector, fmt::format("empty selector is invalid for {}", word)));
    return errors;
  }
  const Json* labels = find_path(object, {"spec", "template", "metadata", "labels"});
  const Json shown = labels != nullptr ? *labels : Json(JsonObject());
  const Result<LabelSelector> parsed = LabelSelector::from_json(*selector);
  if (parsed && !parsed->matches_labels(shown))
    errors.push_back(invalid(FieldPath("spec.template.metadata.labels"), shown,
                             "`selector` does not match template `labels`"));
  return errors;
}

FieldErrors validate_workload(const Json& object, std::string_view word) {
  FieldErrors errors;
  static const Json kNone = JsonObject();
  const Json* given = find(object, "spec");
  const Json& spec = given != nullptr ? *given : kNone;
  const FieldPath path("spec");
  for (const char* key : {"replicas", "minReadySeconds", "revisionHistoryLimit"})
    check_not_negative(errors, spec, key, path);
  append_errors(errors, validate_selector(object, word));
  const Json* pod_template = find(spec, "template");
  append_errors(errors, validate_pod_template(pod_template != nullptr ? *pod_template : kNone,
                                              path.child("template")));
  const std::string_view policy = text_at(spec, {"template", "spec", "restartPolicy"}, "Always");
  if (policy != "Always")
    errors.push_back(
        not_supported(FieldPath("spec.template.spec.restartPolicy"), Json(policy), {"Always"}));
  return errors;
}

FieldErrors validate_workload_update(const Json& object, const Json& live, std::string_view word) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("spec.selector"), find_path(object, {"spec", "selector"}),
                  find_path(live, {"spec", "selector"}));
  if (errors.empty()) return errors;
  FieldErrors mistakes = validate_selector(object, word);
  append_errors(mistakes, std::move(errors));
  return mistakes;
}

// A StatefulSet keeps all but a few members.
FieldErrors validate_stateful_set_update(const Json& object, const Json& live) {
  FieldErrors errors;
  Json next(map_at(object, {"spec"})), before(map_at(live, {"spec"}));
  for (Json* spec : {&next, &before}) {
    for (const char* key :
         {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
          "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})
      spec->get_object().erase(key);
  }
  if (!equal(next, before))
    errors.push_back(forbidden(
        FieldPath("spec"),
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  return errors;
}

JsonObject& spec_with_template(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_pod_template_defaults(spec);
  return spec;
}

void set_deployment_defaults(Json& object) {
  JsonObject& spec = spec_with_template(object);
  set_missing(spec, "replicas", 1);
  set_missing(spec, "revisionHistoryLimit", 10);
  set_missing(spec, "progressDeadlineSeconds", 600);
  JsonObject& strategy = object_at(spec, "strategy");
  if (text_in(strategy, "type").empty()) strategy["type"] = "RollingUpdate";
  if (text_in(strategy, "type") != "RollingUpdate") return;
  JsonObject& rolling = object_at(strategy, "rollingUpdate");
  set_missing(rolling, "maxSurge", "25%");
  set_missing(rolling, "maxUnavailable", "25%");
}

void set_replica_set_defaults(Json& object) {
  set_missing(spec_with_template(object), "replicas", 1);
}

void set_stateful_set_defaults(Json& object) {
  JsonObject& spec = spec_with_template(object);
  set_missing(spec, "replicas", 1);
  set_missing(spec, "revisionHistoryLimit", 10);
  set_missing(spec, "podManagementPolicy", "OrderedReady");
  JsonObject& retention = object_at(spec, "persistentVolumeClaimRetentionPolicy");
  set_missing(retention, "whenDeleted", "Retain");
  set_missing(retention, "whenScaled", "Retain");
  JsonObject& strategy = object_at(spec, "updateStrategy");
  if (text_in(strategy, "type").empty()) strategy["type"] = "RollingUpdate";
  if (text_in(strategy, "type") == "RollingUpdate")
    set_missing(object_at(strategy, "rollingUpdate"), "partition", 0);
}

void set_daemon_set_defaults(Json& object) {
  JsonObject& spec = spec_with_template(object);
  set_missing(spec, "revisionHistoryLimit", 10);
  JsonObject& strategy = object_at(spec, "updateStrategy");
  if (text_in(strategy, "type").empty()) strategy["type"] = "RollingUpdate";
  if (text_in(strategy, "type") != "RollingUpdate") return;
  JsonObject& rolling = object_at(strategy, "rollingUpdate");
  set_missing(rolling, "maxSurge", 0);
  set_missing(rolling, "maxUnavailable", 1);
}

std::vector<std::string> template_warnings(const Json& object) {
  const Json* spec = find_path(object, {"spec", "template", "spec"});
  if (spec == nullptr) return {};
  return pod_spec_warnings(*spec, FieldPath("spec.template.spec"));
}

Kind workload(std::string_view kind, std::string_view plural, const char* short_name,
              std::string_view word) {
  Kind row = ordinary_kind({"apps", "v1", kind, plural});
  row.short_names = {short_name};
  row.categories = {"all"};
  row.subresources = {status_subresource()};
  row.tracks_generation = true;
  row.validate = [word](const Json& object) { return validate_workload(object, word); };
  row.validate_update = [word](const Json& object, const Json& live) {
    return validate_workload_update(object, live, word);
  };
  row.warnings = template_warnings;
  make_inert(row, kText, true);
  return row;
}

void add_scale(Kind& row) {
  row.scale = ScalePaths{".spec.replicas", ".status.replicas", ".spec.selector"};
  row.subresources.insert(row.subresources.begin(),
                          Subresource{.name = "scale",
                                      .kind = "Scale",
                                      .group = "autoscaling",
                                      .version = "v1",
                                      .verbs = {"get", "patch", "update"}});
}

}  // namespace

Kind deployment_kind() {
  Kind row = workload("Deployment", "deployments", "deploy", "deployment");
  add_scale(row);
  row.set_defaults = set_deployment_defaults;
  row.columns = deployment_columns();
  row.cells = deployment_cells;
  return row;
}

Kind replica_set_kind() {
  Kind row = workload("ReplicaSet", "replicasets", "rs", "deployment");  // as upstream says it
  add_scale(row);
  row.set_defaults = set_replica_set_defaults;
  row.columns = replica_set_columns();
  row.cells = replica_set_cells;
  return row;
}

Kind stateful_set_kind() {
  Kind row = workload("StatefulSet", "statefulsets", "sts", "statefulset");
  add_scale(row);
  row.set_defaults = set_stateful_set_defaults;
  row.validate_update = validate_stateful_set_update;
  row.columns = stateful_set_columns();
  row.cells = stateful_set_cells;
  return row;
}

Kind daemon_set_kind() {
  Kind row = workload("DaemonSet", "daemonsets", "ds", "daemonset");
  row.set_defaults = set_daemon_set_defaults;
  row.columns = daemon_set_columns();
  row.cells = daemon_set_cells;
  return row;
}

Kind controller_revision_kind() {
  Kind row = ordinary_kind({"apps", "v1", "ControllerRevision", "controllerrevisions"});
  row.columns = controller_revision_columns();
  row.cells = controller_revision_cells;
  return row;
}

}  // namespace yard
