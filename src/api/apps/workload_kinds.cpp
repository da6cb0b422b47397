// apps/v1. Stored and listed; nothing here makes pods of them.

#include "api/apps/workload_rules.h"
#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"

namespace yard {
namespace {

constexpr std::string_view kText =
    "Trainyard keeps this object but runs no controller for it: no pods are made. Jobs and "
    "training "
    "jobs run here";

using Validation = FieldErrors (*)(const Json& object);

// A selector stays; who changes it hears of every mistake besides.
FieldErrors validate_selector_update(Validation validate, const Json& object, const Json& live) {
  FieldErrors immutable;
  check_immutable(immutable, FieldPath("spec.selector"), find_path(object, {"spec", "selector"}),
                  find_path(live, {"spec", "selector"}));
  if (immutable.empty()) return immutable;
  FieldErrors errors = validate(object);
  append_errors(errors, std::move(immutable));
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
              Validation validate) {
  Kind row = ordinary_kind({"apps", "v1", kind, plural});
  row.short_names = {short_name};
  row.categories = {"all"};
  row.subresources = {status_subresource()};
  row.tracks_generation = true;
  row.validate = validate;
  row.validate_update = [validate](const Json& object, const Json& live) {
    return validate_selector_update(validate, object, live);
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
  Kind row = workload("Deployment", "deployments", "deploy", validate_deployment);
  add_scale(row);
  row.set_defaults = set_deployment_defaults;
  row.columns = deployment_columns();
  row.cells = deployment_cells;
  return row;
}

Kind replica_set_kind() {
  Kind row = workload("ReplicaSet", "replicasets", "rs", validate_replica_set);
  add_scale(row);
  row.set_defaults = set_replica_set_defaults;
  row.columns = replica_set_columns();
  row.cells = replica_set_cells;
  return row;
}

Kind stateful_set_kind() {
  Kind row = workload("StatefulSet", "statefulsets", "sts", validate_stateful_set);
  add_scale(row);
  row.set_defaults = set_stateful_set_defaults;
  row.validate_update = validate_stateful_set_update;
  row.columns = stateful_set_columns();
  row.cells = stateful_set_cells;
  return row;
}

Kind daemon_set_kind() {
  Kind row = workload("DaemonSet", "daemonsets", "ds", validate_daemon_set);
  row.set_defaults = set_daemon_set_defaults;
  row.columns = daemon_set_columns();
  row.cells = daemon_set_cells;
  return row;
}

Kind controller_revision_kind() {
  Kind row = ordinary_kind({"apps", "v1", "ControllerRevision", "controllerrevisions"});
  row.validate = validate_controller_revision;
  row.validate_update = validate_controller_revision_update;
  row.columns = controller_revision_columns();
  row.cells = controller_revision_cells;
  return row;
}

}  // namespace yard
