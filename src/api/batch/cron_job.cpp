#include <algorithm>

#include "api/batch/cron_schedule.h"
#include "api/batch/job_spec.h"
#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "base/strings.h"
#include "base/time_zone.h"

namespace yard {
namespace {

// A Job's name is the CronJob's plus 11 characters.
constexpr size_t kMostName = 52;

void set_cron_job_defaults(Json& cron_job) {
  JsonObject& spec = object_at(cron_job.as_object(), "spec");
  if (text_in(spec, "concurrencyPolicy").empty()) spec["concurrencyPolicy"] = "Allow";
  spec.emplace("suspend", false);
  spec.emplace("successfulJobsHistoryLimit", 3);
  spec.emplace("failedJobsHistoryLimit", 1);
  // The job itself gets its defaults when it is made.
  JsonObject& job_template = object_at(spec, "jobTemplate");
  object_at(job_template, "metadata");
  JsonObject& job = object_at(job_template, "spec");
  set_pod_failure_policy_defaults(job);
  set_pod_template_defaults(job);
}

FieldErrors validate_schedule(const Json& spec, const FieldPath& path) {
  const std::string_view schedule = text_at(spec, {"schedule"});
  if (schedule.empty()) return {required(path)};
  if (schedule.find("TZ") != std::string_view::npos) {
    return {invalid(path, Json(schedule),
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")};
  }
  const Result<CronSchedule> parsed = CronSchedule::parse(schedule);
  if (!parsed) return {invalid(path, Json(schedule), parsed.error().message)};
  return {};
}

FieldErrors validate_time_zone(const Json& spec, const FieldPath& path) {
  const Json* member = find(spec, "timeZone");
  if (!member) return {};
  const std::string_view zone = text_of(*member);
  if (zone.empty()) return {invalid(path, *member, "timeZone must be nil or non-empty string")};
  if (equals_ignore_case(zone, "Local")) {
    return {invalid(path, *member,
                    "timeZone must be an explicit time zone as defined in "
                    "https://www.iana.org/time-zones")};
  }
  if (find_time_zone(zone) == nullptr)
    return {invalid(path, *member, "unknown time zone " + std::string(zone))};
  return {};
}

FieldErrors validate_job_template(const Json& spec, const FieldPath& path) {
  static const Json kNone = JsonObject();
  const Json* found = find_path(spec, {"jobTemplate", "spec"});
  const Json& job = found ? *found : kNone;
  const FieldPath place = path.child("spec");
  FieldErrors errors = validate_job_spec(job, place);
  const Json* metadata = find_path(spec, {"jobTemplate", "metadata"});
  if (metadata) {
    append_errors(
        errors, validate_labels(find(*metadata, "labels"), path.child("metadata").child("labels")));
    append_errors(errors, validate_annotations(find(*metadata, "annotations"),
                                               path.child("metadata").child("annotations")));
  }
  if (const Json* selector = find(job, "selector")) {
    errors.push_back(
        invalid(place.child("selector"), *selector, "`selector` will be auto-generated"));
  }
  if (bool_at(job, {"manualSelector"})) {
    errors.push_back(not_supported(place.child("manualSelector"), Json(true), {"nil", "false"}));
  }
  return errors;
}

FieldErrors validate_cron_job(const Json& cron_job) {
  static const Json kNone = JsonObject();
  const FieldPath path("spec");
  const Json* found = find(cron_job, "spec");
  const Json& spec = found ? *found : kNone;
  FieldErrors errors;
  const std::string_view name = text_at(cron_job, {"metadata", "name"});
  if (name.size() > kMostName) {
    errors.push_back(
        invalid(FieldPath("metadata.name"), Json(name), "must be no more than 52 characters"));
  }
  append_errors(errors, validate_schedule(spec, path.child("schedule")));
  check_not_negative(errors, spec, "startingDeadlineSeconds", path);
  append_errors(errors, validate_time_zone(spec, path.child("timeZone")));
  require_supported(errors, spec, "concurrencyPolicy", path, {"Allow", "Forbid", "Replace"});
  append_errors(errors, validate_job_template(spec, path.child("jobTemplate")));
  check_not_negative(errors, spec, "successfulJobsHistoryLimit", path);
  check_not_negative(errors, spec, "failedJobsHistoryLimit", path);
  return errors;
}

std::vector<std::string> cron_job_warnings(const Json& cron_job) {
  const Json* pod = find_path(cron_job, {"spec", "jobTemplate", "spec", "template", "spec"});
  if (!pod) return {};
  return pod_spec_warnings(*pod, FieldPath("spec.jobTemplate.spec.template.spec"));
}

}  // namespace

Kind cron_job_kind() {
  Kind kind;
  kind.group = "batch";
  kind.version = "v1";
  kind.kind = "CronJob";
  kind.list_kind = "CronJobList";
  kind.plural = "cronjobs";
  kind.singular = "cronjob";
  kind.storage = "cronjobs.batch";
  kind.short_names = {"cj"};
  kind.categories = {"all"};
  kind.verbs = all_verbs();
  kind.subresources = {status_subresource()};
  kind.schema = builtin_schemas().find("batch.v1.CronJob");
  kind.tracks_generation = true;
  kind.columns = cron_job_columns();
  kind.cells = cron_job_cells;
  kind.set_defaults = set_cron_job_defaults;
  kind.prepare_create = [](Json& cron_job, const Admission&) -> Result<void> {
    cron_job.as_object()["status"] = JsonObject();
    return {};
  };
  kind.validate = validate_cron_job;
  kind.warnings = cron_job_warnings;
  return kind;
}

}  // namespace yard
