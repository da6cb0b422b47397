// Stored and listed; nothing here makes pods of it.

#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "api/tree.h"

namespace yard {
namespace {

void set_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  if (spec.if_contains("template") != nullptr) set_pod_template_defaults(spec);
  set_missing(spec, "replicas", 1);
  const JsonObject labels = map_at(object, {"spec", "template", "metadata", "labels"});
  if (labels.empty()) return;
  if (map_at(object, {"spec", "selector"}).empty()) section(object, "spec")["selector"] = labels;
  JsonObject& metadata = section(object, "metadata");
  if (map_at(object, {"metadata", "labels"}).empty()) metadata["labels"] = labels;
}

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  static const Json kNone = JsonObject();
  const Json* given = find(object, "spec");
  const Json& spec = given != nullptr ? *given : kNone;
  const FieldPath path("spec");
  check_not_negative(errors, spec, "minReadySeconds", path);
  const JsonObject& selector = members_at(spec, "selector");
  if (selector.empty()) errors.push_back(required(path.child("selector")));
  check_not_negative(errors, spec, "replicas", path);
  const Json* pod_template = find(spec, "template");
  if (pod_template == nullptr) {
    errors.push_back(required(path.child("template")));
    return errors;
  }
  const JsonObject& labels = map_at(*pod_template, {"metadata", "labels"});
  for (const auto& wanted : selector) {
    const Json* has = labels.if_contains(wanted.key());
    if (has != nullptr && equal(*has, wanted.value())) continue;
    errors.push_back(invalid(path.child("template").child("metadata").child("labels"), Json(labels),
                             "`selector` does not match template `labels`"));
    break;
  }
  append_errors(errors, validate_pod_template(*pod_template, path.child("template")));
  const std::string_view policy = text_at(spec, {"template", "spec", "restartPolicy"}, "Always");
  if (policy != "Always")
    errors.push_back(
        not_supported(FieldPath("spec.template.spec.restartPolicy"), Json(policy), {"Always"}));
  return errors;
}

std::vector<Column> columns() {
  return {name_column(),
          column("Desired", "How many are asked for.", "integer"),
          column("Current", "How many there are.", "integer"),
          column("Ready", "How many are ready.", "integer"),
          age_column(),
          wide_column("Containers", "Names of the containers."),
          wide_column("Images", "Their images."),
          wide_column("Selector", "Which pods it means.")};
}

std::string cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(int_at(object, {"spec", "replicas"}));
  row.number(int_at(object, {"status", "replicas"}));
  row.number(int_at(object, {"status", "readyReplicas"}));
  row.age(created_at(object));
  const Json* pod_spec = find_path(object, {"spec", "template", "spec"});
  row.text(container_members_text(pod_spec, "name"));
  row.text(container_members_text(pod_spec, "image"));
  row.text(labels_text(map_at(object, {"spec", "selector"})));
  return row.finish();
}

}  // namespace

Kind replication_controller_kind() {
  Kind row = ordinary_kind({"", "v1", "ReplicationController", "replicationcontrollers"});
  row.short_names = {"rc"};
  row.categories = {"all"};
  row.tracks_generation = true;
  row.subresources = {Subresource{.name = "scale",
                                  .kind = "Scale",
                                  .group = "autoscaling",
                                  .version = "v1",
                                  .verbs = {"get", "patch", "update"}},
                      status_subresource()};
  row.scale = ScalePaths{".spec.replicas", ".status.replicas", ""};
  row.columns = columns();
  row.cells = cells;
  row.set_defaults = set_defaults;
  row.validate = validate;
  make_inert(
      row,
      "Trainyard keeps this object but runs no controller for it: no pods are made. Jobs and "
      "training jobs run here",
      true);
  return row;
}

}  // namespace yard
