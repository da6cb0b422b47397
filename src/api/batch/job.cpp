#include <array>
#include <limits>

#include <fmt/format.h>

#include "api/batch/job_spec.h"
#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/selectors.h"
#include "api/tables.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr const char* kNameLabel = "batch.kubernetes.io/job-name";
constexpr const char* kOldUidLabel = "controller-uid";
constexpr const char* kOldNameLabel = "job-name";

struct GeneratedLabel {
  const char* key;
  const char* metadata_key;  // of the Job: where the value comes from
};
constexpr std::array<GeneratedLabel, 4> kGeneratedLabels = {
    {{kUidLabel, "uid"}, {kNameLabel, "name"}, {kOldUidLabel, "uid"}, {kOldNameLabel, "name"}}};

// A Job without labels of its own shows its template's.
void copy_template_labels(Json& job) {
  const Json* from = find_path(job, {"spec", "template", "metadata", "labels"});
  if (members_of(from).empty()) return;
  const Json labels = *from;
  JsonObject& metadata = object_at(job.as_object(), "metadata");
  if (object_at(metadata, "labels").empty()) metadata["labels"] = labels;
}

void set_job_defaults(Json& job) {
  JsonObject& spec = object_at(job.as_object(), "spec");
  if (!spec.contains("completions") && !spec.contains("parallelism")) {
    spec.emplace("completions", 1);
  }
  spec.emplace("parallelism", 1);
  const bool per_index = spec.contains("backoffLimitPerIndex");
  spec.emplace("backoffLimit", per_index ? std::numeric_limits<int32_t>::max() : 6);
  spec.emplace("completionMode", "NonIndexed");
  spec.emplace("suspend", false);
  spec.emplace("manualSelector", false);
  spec.emplace("podReplacementPolicy",
               spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  set_pod_failure_policy_defaults(spec);
  set_pod_template_defaults(spec);
  copy_template_labels(job);
}

// Labels the client set are kept; validation refuses those that say something else.
void generate_selector(Json& job) {
  const std::string name(text_at(job, {"metadata", "name"}));
  const std::string uid(text_at(job, {"metadata", "uid"}));
  JsonObject& spec = object_at(job.as_object(), "spec");
  JsonObject& pod_template = object_at(spec, "template");
  JsonObject& labels = object_at(object_at(pod_template, "metadata"), "labels");
  for (const GeneratedLabel& label : kGeneratedLabels) {
    labels.emplace(label.key, std::string_view(label.metadata_key) == "uid" ? uid : name);
  }
  JsonObject& selector = object_at(spec, "selector");
  object_at(selector, "matchLabels").emplace(kUidLabel, uid);
}

Result<void> prepare_job_create(Json& job, const Admission&) {
  if (!bool_at(job, {"spec", "manualSelector"})) generate_selector(job);
  copy_template_labels(job);
  job.as_object()["status"] = JsonObject();
  return {};
}

FieldErrors validate_generated_selector(const Json& job, const Json& selector) {
  FieldErrors errors;
  const Json* labels = find_path(job, {"spec", "template", "metadata", "labels"});
  const FieldPath path("spec.template.metadata.labels");
  JsonObject expected;
  for (const GeneratedLabel& label : kGeneratedLabels) {
    const std::string_view value = text_at(job, {"metadata", label.metadata_key});
    expected.emplace(label.key, value);
    const Json* found = members_of(labels).if_contains(label.key);
    const std::string must_be = fmt::format("must be '{}'", value);
    if (!found) {
      errors.push_back(required(path.key(label.key), must_be));
    } else if (text_of(*found) != value) {
      errors.push_back(invalid(path.key(label.key), *labels, must_be));
    }
  }
  const Result<LabelSelector> parsed = LabelSelector::from_json(selector);
  if (parsed && !parsed->matches_labels(Json(std::move(expected)))) {
    errors.push_back(
        invalid(FieldPath("spec.selector"), selector, "`selector` not auto-generated"));
  }
  return errors;
}

FieldErrors validate_selector(const Json& job) {
  FieldErrors errors;
  const FieldPath path("spec.selector");
  const Json* selector = find_path(job, {"spec", "selector"});
  if (!selector) {
    errors.push_back(required(path));
    return errors;
  }
  append_errors(errors, validate_label_selector(selector, path));
  if (!bool_at(job, {"spec", "manualSelector"})) {
    append_errors(errors, validate_generated_selector(job, *selector));
  }
  static const Json kNone = JsonObject();
  const Json* labels = find_path(job, {"spec", "template", "metadata", "labels"});
  const Json& shown = labels ? *labels : kNone;
  const Result<LabelSelector> parsed = LabelSelector::from_json(*selector);
  if (parsed && !parsed->matches_labels(shown)) {
    errors.push_back(invalid(FieldPath("spec.template.metadata.labels"), shown,
                             "`selector` does not match template `labels`"));
  }
  return errors;
}

FieldErrors validate_job(const Json& job) {
  FieldErrors errors = validate_selector(job);
  const Json* spec = find(job, "spec");
  if (!spec) return errors;
  append_errors(errors, validate_job_spec(*spec, FieldPath("spec")));
  const int64_t completions = int_at(*spec, {"completions"});
  if (is_indexed(*spec) && completions > 0) {
    const std::string_view name = text_at(job, {"metadata", "name"});
    const std::string last_pod = fmt::format("{}-{}", name, completions - 1);
    if (!dns1123_label_problems(last_pod).empty()) {
      errors.push_back(invalid(FieldPath("metadata.name"), Json(name),
                               "will not able to create pod with invalid DNS label: " + last_pod));
    }
  }
  return errors;
}

// A spec that stays as it is was valid when it came: labels and finalizers change at no cost.
FieldErrors validate_changed_job(const Json& job, const Json& live) {
  if (same(find(job, "spec"), find(live, "spec"))) return {};
  FieldErrors errors = validate_job_update(job, live);
  return errors.empty() ? validate_job(job) : errors;
}

std::vector<std::string> job_warnings(const Json& job) {
  std::vector<std::string> warnings;
  const std::vector<std::string> problems =
      dns1123_label_problems(text_at(job, {"metadata", "name"}));
  if (!problems.empty()) {
    warnings.push_back(
        fmt::format("metadata.name: this is used in Pod names and hostnames, which can result in "
                    "surprising behavior; a DNS label is recommended: [{}]",
                    join(problems, " ")));
  }
  const Json* spec = find(job, "spec");
  if (!spec) return warnings;
  if (is_indexed(*spec) && int_at(*spec, {"completions"}) > 100'000 &&
      int_at(*spec, {"parallelism"}) > 10'000) {
    warnings.emplace_back(
        "spec: an Indexed Job with more than 100000 completions and a parallelism above 10000 may "
        "not be able to track completedIndexes when many indexes fail");
  }
  if (const Json* pod = find_path(*spec, {"template", "spec"})) {
    for (std::string& warning : pod_spec_warnings(*pod, FieldPath("spec.template.spec"))) {
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace

Kind job_kind() {
  Kind kind;
  kind.group = "batch";
  kind.version = "v1";
  kind.kind = "Job";
  kind.list_kind = "JobList";
  kind.plural = "jobs";
  kind.singular = "job";
  kind.storage = "jobs.batch";
  kind.categories = {"all"};
  kind.verbs = all_verbs();
  kind.subresources = {status_subresource()};
  kind.schema = builtin_schemas().find("batch.v1.Job");
  kind.tracks_generation = true;
  kind.default_propagation = DeletePropagation::Orphan;
  kind.selectable_fields = {"status.successful"};
  kind.field_values = [](const Json& job) {
    return std::vector<std::string>{std::to_string(int_at(job, {"status", "succeeded"}))};
  };
  kind.columns = job_columns();
  kind.cells = job_cells;
  kind.set_defaults = set_job_defaults;
  kind.prepare_create = prepare_job_create;
  kind.validate = validate_job;
  kind.validate_update = validate_changed_job;
  kind.validate_status_update = validate_job_status_update;
  kind.warnings = job_warnings;
  return kind;
}

}  // namespace yard
