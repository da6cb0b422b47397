#include "controllers/batch/job_status.h"

#include <algorithm>

#include "api/tree.h"

namespace yard {
namespace {

JsonObject condition(std::string_view type, bool is_true, std::string_view reason,
                     std::string_view message, Time now) {
  return JsonObject{{"type", type},
                    {"status", is_true ? "True" : "False"},
                    {"lastProbeTime", rfc3339(now)},
                    {"lastTransitionTime", rfc3339(now)},
                    {"reason", reason},
                    {"message", message}};
}

Json* condition_of(JsonArray& conditions, std::string_view type) {
  const auto found = std::ranges::find_if(
      conditions, [&](const Json& item) { return text_at(item, {"type"}) == type; });
  return found == conditions.end() ? nullptr : &*found;
}

void add_condition(JsonArray& conditions, std::string_view type, const JobEnd& end, Time now) {
  if (Json* there = condition_of(conditions, type)) {
    if (text_at(*there, {"status"}) != "True")
      *there = condition(type, true, end.reason, end.message, now);
    return;
  }
  conditions.push_back(condition(type, true, end.reason, end.message, now));
}

void set_suspended(JsonArray& conditions, bool suspended, Time now) {
  JsonObject next = suspended ? condition("Suspended", true, "JobSuspended", "Job suspended", now)
                              : condition("Suspended", false, "JobResumed", "Job resumed", now);
  if (Json* there = condition_of(conditions, "Suspended")) {
    *there = std::move(next);
  } else {
    conditions.push_back(std::move(next));
  }
}

void set_count(JsonObject& status, std::string_view key, int64_t value) {
  if (value == 0) {
    status.erase(key);
  } else {
    status[key] = value;
  }
}

void set_uids(JsonObject& parent, std::string_view key, const std::vector<std::string>& uids) {
  if (uids.empty()) {
    parent.erase(key);
  } else {
    parent[key] = JsonArray(uids.begin(), uids.end());
  }
}

void set_conditions(JsonObject& status, const StatusFacts& facts, Time now) {
  Json& list = status["conditions"];
  if (!list.is_array()) list = JsonArray();
  JsonArray& conditions = list.get_array();
  if (facts.suspended) set_suspended(conditions, *facts.suspended, now);
  if (facts.end)
    add_condition(conditions, facts.end->success ? "SuccessCriteriaMet" : "FailureTarget",
                  *facts.end, now);
  if (facts.end && facts.is_over) {
    add_condition(conditions, facts.end->success ? "Complete" : "Failed", *facts.end, now);
  }
  if (conditions.empty()) status.erase("conditions");
  // Last: a new member moves what `conditions` refers to.
  if (facts.end && facts.is_over && facts.end->success) status["completionTime"] = rfc3339(now);
}

}  // namespace

bool turns_suspended(const JobFacts& job, bool suspended) {
  return suspended != (job.condition("Suspended") != nullptr);
}

Json with_status(const JobFacts& job, const StatusFacts& facts, Time now) {
  Json tree = *job.tree;
  JsonObject& status = section(tree, "status");
  set_count(status, "active", static_cast<int64_t>(facts.active));
  status["ready"] = static_cast<int64_t>(facts.ready);
  status["terminating"] = static_cast<int64_t>(facts.terminating);
  set_count(status, "succeeded", facts.accounts.succeeded);
  set_count(status, "failed", facts.accounts.failed);
  if (facts.start_time) status["startTime"] = rfc3339(*facts.start_time);
  JsonObject& uncounted = object_at(status, "uncountedTerminatedPods");
  set_uids(uncounted, "succeeded", facts.accounts.uncounted_succeeded);
  set_uids(uncounted, "failed", facts.accounts.uncounted_failed);
  if (job.indexed) {
    if (facts.accounts.completed.empty()) {
      status.erase("completedIndexes");
    } else {
      status["completedIndexes"] = facts.accounts.completed.text();
    }
    if (job.backoff_limit_per_index) status["failedIndexes"] = facts.failed_indexes.text();
  }
  set_conditions(status, facts, now);
  return tree;
}

}  // namespace yard
