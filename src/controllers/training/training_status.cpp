#include "controllers/training/training_status.h"

#include "api/tree.h"
#include "controllers/training/replica_objects.h"

namespace yard {
namespace {

void set_or_erase(JsonObject& status, std::string_view key, Json value, bool present) {
  if (present) {
    status[key] = std::move(value);
  } else {
    status.erase(key);
  }
}

void set_time(JsonObject& status, std::string_view key, const std::optional<Time>& time) {
  set_or_erase(status, key, time ? Json(rfc3339(*time)) : Json(), time.has_value());
}

void add_count(JsonObject& counts, std::string_view key, int value) {
  if (value != 0) counts[key] = value;
}

}  // namespace

TrainingStatus::TrainingStatus(const TrainingJob& job)
    : conditions(list_at(*job.tree, {"status", "conditions"})),
      replicas(map_at(*job.tree, {"status", "replicaStatuses"})),
      start_time(job.start_time),
      completion_time(job.completion_time),
      restarts(job.restarts),
      restart_after(job.restart_after),
      generation(job.generation),
      restarting(job.restarting),
      completed(job.completed) {}

void TrainingStatus::count(const TrainingJob& job, const TrainingStanding& standing) {
  replicas = {};
  for (const GroupStanding& group : standing.groups) {
    JsonObject counts;
    add_count(counts, "active", group.active);
    add_count(counts, "succeeded", group.completed.size());
    add_count(counts, "failed", group.failed);
    if (job.kind->scales) counts["selector"] = replica_selector(job, *group.group);
    replicas[group.group->type] = std::move(counts);
    completed[group.group->type] = group.completed;
  }
}

std::optional<ClientWrite> status_write(const TrainingJob& job, const TrainingStatus& next) {
  Json tree = *job.tree;
  JsonObject& status = section(tree, "status");
  status["conditions"] = next.conditions;
  set_or_erase(status, "replicaStatuses", next.replicas, !next.replicas.empty());
  set_time(status, "startTime", next.start_time);
  set_time(status, "completionTime", next.completion_time);
  set_or_erase(status, "restarts", next.restarts, next.restarts != 0);
  set_time(status, "restartAfter", next.restart_after);
  set_or_erase(status, "restartGeneration", next.generation, next.generation != 0);
  set_or_erase(status, "restartingPods", JsonArray(next.restarting.begin(), next.restarting.end()),
               !next.restarting.empty());
  JsonObject completed;
  for (const auto& [type, indexes] : next.completed)
    if (!indexes.empty()) completed[type] = indexes.text();
  const bool any = !completed.empty();
  set_or_erase(status, "completedIndexes", std::move(completed), any);
  if (equal(tree, *job.tree)) return std::nullopt;
  return ClientWrite{ClientWrite::Verb::UpdateStatus, job.resource(), job.ns, job.name,
                     std::move(tree)};
}

}  // namespace yard
