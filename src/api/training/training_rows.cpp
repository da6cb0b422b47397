// The rows of the training kinds, and the definitions that show them to clients. The rows are built
// in, with the real pod template in their schema; the definitions are there to be found (`kubectl
// get crd`), and may be replaced by upstream's own without a change of what is served.

#include <algorithm>

#include <fmt/format.h>

#include "api/crd/printer_columns.h"
#include "api/kinds.h"
#include "api/training/training_kind.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

JsonArray printer_columns(const TrainingKind& kind) {
  const JsonObject state{
      {"name", "State"}, {"type", "string"}, {"jsonPath", ".status.conditions[-1:].type"}};
  const JsonObject age{
      {"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}};
  if (kind.kind == "MPIJob") return {age, state};
  return {state, age};
}

ScalePaths scale_paths(const TrainingKind& kind) {
  return {fmt::format(".spec.{}.Worker.replicas", kind.replicas),
          ".status.replicaStatuses.Worker.active", ".status.replicaStatuses.Worker.selector"};
}

// The schema's default of the one member that has one, where there is something to put it in.
void set_training_defaults(Json& job) {
  Json* policy = find_path(job, {"spec", "runPolicy"});
  if (policy != nullptr && policy->is_object()) set_missing(policy->get_object(), "suspend", false);
}

Kind row_of(const TrainingKind& kind) {
  const TrainingKind* const self = &kind;
  Kind row = ordinary_kind({kTrainingGroup, kind.version, kind.kind, kind.plural});
  row.schema = builtin_schemas().find("kubeflow.v1." + std::string(kind.kind));
  row.custom = true;
  row.tracks_generation = true;
  row.allows_unconditional_update = false;
  row.subresources = {status_subresource()};
  if (kind.scales) {
    row.subresources.push_back(Subresource{.name = "scale",
                                           .kind = "Scale",
                                           .group = "autoscaling",
                                           .version = "v1",
                                           .verbs = {"get", "patch", "update"}});
    row.scale = scale_paths(kind);
  }
  PrintedTable table = custom_table(printer_columns(kind));
  row.columns = std::move(table.columns);
  row.cells = std::move(table.cells);
  row.set_defaults = set_training_defaults;
  row.validate = [self](const Json& job) { return validate_training_job(*self, job, true); };
  row.validate_update = [self](const Json& job, const Json& live) {
    return validate_training_update(*self, job, live);
  };
  row.warnings = [self](const Json& job) { return training_warnings(*self, job); };
  return row;
}

// Another version of a stored kind: the same object under another name.
void make_view_of_v1(Kind& row) {
  row.from_stored = [version = row.api_version()](Json& job) {
    job.get_object()["apiVersion"] = version;
  };
  row.to_stored = [](Json& job) {
    job.get_object()["apiVersion"] = std::string(kTrainingGroup) + "/v1";
  };
}

// v1 and v2beta1 of MPIJob lie in one storage and mean different things: the object remembers.
Kind mpi_v2beta1_row(const TrainingKind& kind) {
  Kind row = row_of(kind);
  make_view_of_v1(row);
  row.prepare_create = [](Json& job, const Admission&) -> Result<void> {
    object_at(section(job, "metadata"), "annotations")[kWrittenAs] = "v2beta1";
    return {};
  };
  return row;
}

Kind tf_v1beta1_row(const TrainingKind& kind) {
  Kind row = row_of(kind);
  row.version = "v1beta1";
  row.deprecation_warning = "kubeflow.org/v1beta1 TFJob is served as kubeflow.org/v1; write that";
  make_view_of_v1(row);
  return row;
}

JsonObject definition_version(const TrainingKind& kind, std::string_view version, bool stored) {
  const auto open = [](const char* about) {
    return JsonObject{
        {"type", "object"}, {"description", about}, {"x-kubernetes-preserve-unknown-fields", true}};
  };
  JsonObject subresources{{"status", JsonObject()}};
  if (kind.scales) {
    const ScalePaths paths = scale_paths(kind);
    subresources["scale"] = JsonObject{{"specReplicasPath", paths.spec_replicas},
                                       {"statusReplicasPath", paths.status_replicas},
                                       {"labelSelectorPath", paths.label_selector}};
  }
  return {{"name", version},
          {"served", true},
          {"storage", stored},
          {"schema",
           JsonObject{
               {"openAPIV3Schema",
                JsonObject{
                    {"type", "object"},
                    {"description", fmt::format("{} is built into the server; `kubectl explain {}` "
                                                "shows its fields.",
                                                kind.kind, kind.plural)},
                    {"properties", JsonObject{{"spec", open("What should run.")},
                                              {"status", open("What was last seen of it.")}}}}}}},
          {"subresources", std::move(subresources)},
          {"additionalPrinterColumns", printer_columns(kind)}};
}

}  // namespace

std::vector<Kind> training_rows() {
  std::vector<Kind> rows, views;
  for (const TrainingKind& kind : training_kinds()) {
    if (kind.version == "v1") {
      rows.push_back(row_of(kind));
    } else {
      views.push_back(mpi_v2beta1_row(kind));
    }
    if (kind.kind == "TFJob") views.push_back(tf_v1beta1_row(kind));
  }
  // v2beta1 before v1beta1, as versions are preferred.
  std::ranges::sort(views, std::greater(), &Kind::version);
  std::ranges::move(views, std::back_inserter(rows));
  return rows;
}

std::vector<std::string> training_definition_names() {
  std::vector<std::string> names;
  for (const TrainingKind& kind : training_kinds())
    if (kind.version == "v1") names.push_back(fmt::format("{}.{}", kind.plural, kTrainingGroup));
  return names;
}

Json training_definition_spec(std::string_view name) {
  for (const TrainingKind& kind : training_kinds()) {
    if (kind.version != "v1" || name != fmt::format("{}.{}", kind.plural, kTrainingGroup)) continue;
    JsonArray versions{definition_version(kind, "v1", true)};
    if (kind.kind == "MPIJob") versions.push_back(definition_version(kind, "v2beta1", false));
    if (kind.kind == "TFJob") versions.push_back(definition_version(kind, "v1beta1", false));
    return JsonObject{{"group", kTrainingGroup},
                      {"scope", "Namespaced"},
                      {"names", JsonObject{{"plural", kind.plural},
                                           {"singular", lower(kind.kind)},
                                           {"kind", kind.kind},
                                           {"listKind", std::string(kind.kind) + "List"}}},
                      {"versions", std::move(versions)},
                      {"conversion", JsonObject{{"strategy", "None"}}}};
  }
  return {};
}

}  // namespace yard
