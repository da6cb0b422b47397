#include <array>

#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"

namespace yard {

namespace {

std::string_view job_status(const Json& job) {
  for (std::string_view type : {"Complete", "Failed"}) {
    if (condition_status(job, type) == "True") return type;
  }
  if (is_being_deleted(job)) return "Terminating";
  for (std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (condition_status(job, type) == "True") return type;
  }
  return "Running";
}

std::string completions_text(const Json& job) {
  int64_t succeeded = int_at(job, {"status", "succeeded"});
  if (find_path(job, {"spec", "completions"}) != nullptr) {
    return fmt::format("{}/{}", succeeded, int_at(job, {"spec", "completions"}));
  }
  int64_t parallelism = int_at(job, {"spec", "parallelism"});
  if (parallelism > 1) return fmt::format("{}/1 of {}", succeeded, parallelism);
  return fmt::format("{}/1", succeeded);
}

void write_duration(RowWriter& row, const Json& job) {
  std::optional<Time> started = time_at(job, {"status", "startTime"});
  std::optional<Time> completed = time_at(job, {"status", "completionTime"});
  if (!started) {
    row.text("");
  } else if (completed) {
    row.text(human_duration(*completed - *started));
  } else {
    row.age(started);  // keeps growing for failed jobs: they have no completionTime
  }
}

void write_containers(RowWriter& row, const Json* pod_spec, const Json* selector) {
  row.text(container_members_text(pod_spec, "name"));
  row.text(container_members_text(pod_spec, "image"));
  row.text(label_selector_text(selector));
}

std::string_view suspend_text(const Json& cron_job) {
  const Json* suspend = find_path(cron_job, {"spec", "suspend"});
  if (suspend == nullptr || !suspend->is_bool()) return "<unset>";
  return suspend->get_bool() ? "True" : "False";
}

void append_container_columns(std::vector<Column>& columns) {
  columns.push_back(wide_column("Containers", "Names of the template's containers."));
  columns.push_back(wide_column("Images", "Images of the template's containers."));
  columns.push_back(wide_column("Selector", "Which pods belong to it."));
}

}  // namespace

std::vector<Column> job_columns() {
  std::vector<Column> columns{
      name_column(),
      column("Status", "How the job stands, in one word."),
      column("Completions", "Pods that succeeded, of those needed."),
      column("Duration", "From start to completion, or until now."),
      age_column(),
  };
  append_container_columns(columns);
  return columns;
}

std::string job_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(job_status(object));
  row.text(completions_text(object));
  write_duration(row, object);
  row.age(created_at(object));
  write_containers(row, find_path(object, {"spec", "template", "spec"}),
                   find_path(object, {"spec", "selector"}));
  return row.finish();
}

std::vector<Column> cron_job_columns() {
  std::vector<Column> columns{
      name_column(),
      column("Schedule", "When jobs are made, in cron's notation."),
      column("Timezone", "The zone the schedule is read in."),
      column("Suspend", "Whether no further jobs are made.", "boolean"),
      column("Active", "Jobs now running.", "integer"),
      column("Last Schedule", "How long ago a job was last made."),
      age_column(),
  };
  append_container_columns(columns);
  return columns;
}

std::string cron_job_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "schedule"}));
  row.text(text_at(object, {"spec", "timeZone"}, "<none>"));
  row.text(suspend_text(object));
  row.number(static_cast<int64_t>(list_at(object, {"status", "active"}).size()));
  std::optional<Time> last = time_at(object, {"status", "lastScheduleTime"});
  if (last) {
    row.age(last);
  } else {
    row.text("<none>");
  }
  row.age(created_at(object));
  write_containers(row, find_path(object, {"spec", "jobTemplate", "spec", "template", "spec"}),
                   find_path(object, {"spec", "jobTemplate", "spec", "selector"}));
  return row.finish();
}

}  // namespace yard
