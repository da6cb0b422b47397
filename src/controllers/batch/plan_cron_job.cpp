#include "controllers/batch/plan_cron_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "controllers/batch/cron_times.h"
#include "controllers/batch/job_facts.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSlotAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr Duration kAfterSlot = 100ms;  // so that a slot has surely come

EventNote normal(const char* reason, std::string message) {
  return {EventNote::Type::Normal, reason, std::move(message)};
}
EventNote warning(const char* reason, std::string message) {
  return {EventNote::Type::Warning, reason, std::move(message)};
}

// Complete, Failed or "".
std::string_view outcome(const Json& job) {
  for (const char* type : {"Complete", "Failed"})
    if (condition_status(job, type) == "True") return type;
  return "";
}

Json reference_to(const Json& job) {
  return JsonObject{{"apiVersion", kJobResource.api_version},
                    {"kind", kJobResource.kind},
                    {"namespace", text_at(job, {"metadata", "namespace"})},
                    {"name", name_of(job)},
                    {"uid", text_at(job, {"metadata", "uid"})},
                    {"resourceVersion", text_at(job, {"metadata", "resourceVersion"})}};
}

ClientWrite delete_job(const Json& job) {
  return {ClientWrite::Verb::Delete, kJobResource,
          std::string(text_at(job, {"metadata", "namespace"})), std::string(name_of(job)),
          JsonObject{{"propagationPolicy", "Background"},
                     {"preconditions", JsonObject{{"uid", text_at(job, {"metadata", "uid"})}}}}};
}

class CronPlanner {
 public:
  explicit CronPlanner(const CronJobWorld& world)
      : world_(world), next_(world.cron), status_(section(next_, "status")) {}

  Plan run() {
    follow_jobs();
    trim_history("Complete", "successfulJobsHistoryLimit", 3);
    trim_history("Failed", "failedJobsHistoryLimit", 1);
    if (!is_being_deleted(world_.cron) && !bool_at(world_.cron, {"spec", "suspend"})) start_due();
    if (!same(find(next_, "status"), find(world_.cron, "status"))) {
      plan_.last = ClientWrite{ClientWrite::Verb::UpdateStatus, kCronJobResource,
                               std::string(text_at(world_.cron, {"metadata", "namespace"})),
                               std::string(name_of(world_.cron)), std::move(next_)};
    }
    return std::move(plan_);
  }

 private:
  // status.active and lastSuccessfulTime, from what the jobs say.
  void follow_jobs() {
    JsonArray active;
    for (const Json& reference : list_at(world_.cron, {"status", "active"})) {
      const auto job = std::ranges::find_if(world_.jobs, [&](const Json& one) {
        return text_at(one, {"metadata", "uid"}) == text_at(reference, {"uid"});
      });
      if (job == world_.jobs.end()) {
        plan_.events.push_back(normal("MissingJob", fmt::format("Active job went missing: {}",
                                                                text_at(reference, {"name"}))));
      } else if (const std::string_view how = outcome(*job); !how.empty()) {
        plan_.events.push_back(
            normal("SawCompletedJob",
                   fmt::format("Saw completed job: {}, condition: {}", name_of(*job), how)));
      } else {
        active.push_back(reference);
        active_.push_back(&*job);
      }
    }
    for (const Json& job : world_.jobs)
      follow_job(job, active);
    set_active(std::move(active));
  }

  void follow_job(const Json& job, JsonArray& active) {
    if (outcome(job) == "Complete") {
      const auto completed = time_at(job, {"status", "completionTime"});
      const auto before = time_at(next_, {"status", "lastSuccessfulTime"});
      if (completed && (!before || *before < *completed))
        status_["lastSuccessfulTime"] = rfc3339(*completed);
    }
    if (!outcome(job).empty() || std::ranges::find(active_, &job) != active_.end()) return;
    // A job we made joins the list here: only now is its uid known.
    if (!text_at(job, {"metadata", "annotations", kSlotAnnotation}).empty()) {
      active.push_back(reference_to(job));
      active_.push_back(&job);
    } else if (text_at(job, {"metadata", "annotations", "cronjob.kubernetes.io/instantiate"}) !=
               "manual") {
      plan_.events.push_back(warning(
          "UnexpectedJob",
          fmt::format("Saw a job that the controller did not create or forgot: {}", name_of(job))));
    }
  }

  void set_active(JsonArray active) {
    if (active.empty()) {
      status_.erase("active");
    } else {
      status_["active"] = std::move(active);
    }
  }

  void trim_history(std::string_view how, std::string_view limit_key, int64_t otherwise) {
    std::vector<const Json*> finished;
    for (const Json& job : world_.jobs)
      if (outcome(job) == how && !is_being_deleted(job)) finished.push_back(&job);
    const auto limit = static_cast<size_t>(
        std::max<int64_t>(0, int_at(world_.cron, {"spec", limit_key}, otherwise)));
    if (finished.size() <= limit) return;
    std::ranges::stable_sort(finished, {}, [](const Json* job) {
      return time_at(*job, {"status", "startTime"}).value_or(created_at(*job).value_or(Time{}));
    });
    finished.resize(finished.size() - limit);
    for (const Json* job : finished)
      plan_.writes.push_back(delete_job(*job));
  }

  void start_due() {
    const std::string_view zone_name = text_at(world_.cron, {"spec", "timeZone"});
    const TimeZone* zone = zone_name.empty() ? nullptr : find_time_zone(zone_name);
    if (!zone_name.empty() && zone == nullptr) {
      // It was known when the CronJob was written.
      plan_.events.push_back(
          warning("UnknownTimeZone",
                  fmt::format("invalid timeZone: {}: unknown time zone {}", quoted(zone_name),
                              zone_name)));
      return;
    }
    const std::string_view text = text_at(world_.cron, {"spec", "schedule"});
    const auto schedule = CronSchedule::parse(text);
    if (!schedule) {
      plan_.events.push_back(warning(
          "UnparseableSchedule",
          fmt::format("unparseable schedule: {} : {}", quoted(text), schedule.error().message)));
      return;
    }
    const CronSlots slots = cron_slots(*schedule, text, earliest(), world_.now, zone);
    if (slots.next)
      plan_.requeue_after =
          std::max<Duration>(Duration::zero(), *slots.next - world_.now) + kAfterSlot;
    if (!slots.latest) return;
    if (slots.missed_too_many) {
      plan_.events.push_back(warning("TooManyMissedTimes",
                                     "too many missed start times. Set or decrease "
                                     ".spec.startingDeadlineSeconds or check clock skew"));
    }
    start(*slots.latest);
  }

  // Slots before this one are settled, or too late.
  Time earliest() const {
    const Time since = time_at(world_.cron, {"status", "lastScheduleTime"})
                           .value_or(created_at(world_.cron).value_or(world_.now));
    const auto deadline = starting_deadline();
    return deadline ? std::max(since, world_.now - *deadline) : since;
  }
  std::optional<Duration> starting_deadline() const {
    const Json* seconds = find_path(world_.cron, {"spec", "startingDeadlineSeconds"});
    if (seconds == nullptr || seconds->is_null()) return std::nullopt;
    constexpr int64_t kLongest = int64_t{50} * 365 * 24 * 3600;
    return std::chrono::seconds(
        std::min(int_at(world_.cron, {"spec", "startingDeadlineSeconds"}), kLongest));
  }

  void start(Time slot) {
    const auto deadline = starting_deadline();
    if (deadline && slot + *deadline < world_.now) {
      plan_.events.push_back(
          warning("MissSchedule", "Missed scheduled time to start a job: " + rfc1123z(slot)));
      return;
    }
    const std::string name = job_name(world_.cron, slot);
    const bool exists =
        std::ranges::any_of(world_.jobs, [&](const Json& job) { return name_of(job) == name; });
    if (!exists && !active_.empty()) {
      const std::string_view policy = text_at(world_.cron, {"spec", "concurrencyPolicy"}, "Allow");
      if (policy == "Forbid") {
        plan_.events.push_back(normal("JobAlreadyActive",
                                      "Not starting job because prior execution is running and "
                                      "concurrency policy is Forbid"));
        return;
      }
      if (policy == "Replace") {
        for (const Json* job : active_)
          plan_.writes.push_back(delete_job(*job));
      }
    }
    if (!exists) {
      plan_.writes.push_back({ClientWrite::Verb::Create, kJobResource,
                              std::string(text_at(world_.cron, {"metadata", "namespace"})), name,
                              job_of_slot(world_.cron, slot)});
    }
    status_["lastScheduleTime"] = rfc3339(slot);
  }

  const CronJobWorld& world_;
  Json next_;
  JsonObject& status_;
  std::vector<const Json*> active_;
  Plan plan_;
};

}  // namespace

std::string job_name(const Json& cron, Time slot) {
  return fmt::format("{}-{}", name_of(cron), unix_seconds(slot) / 60);
}

Json job_of_slot(const Json& cron, Time slot) {
  JsonObject metadata{{"name", job_name(cron, slot)},
                      {"namespace", text_at(cron, {"metadata", "namespace"})}};
  for (const char* part : {"labels", "annotations"}) {
    if (const Json* member = find_path(cron, {"spec", "jobTemplate", "metadata", part}))
      metadata[part] = *member;
  }
  object_at(metadata, "annotations")[kSlotAnnotation] = rfc3339(slot);
  metadata["ownerReferences"] = JsonArray{JsonObject{{"apiVersion", kCronJobResource.api_version},
                                                     {"kind", kCronJobResource.kind},
                                                     {"name", name_of(cron)},
                                                     {"uid", text_at(cron, {"metadata", "uid"})},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", true}}};
  const Json* spec = find_path(cron, {"spec", "jobTemplate", "spec"});
  return JsonObject{{"apiVersion", kJobResource.api_version},
                    {"kind", kJobResource.kind},
                    {"metadata", std::move(metadata)},
                    {"spec", spec != nullptr ? *spec : Json(JsonObject())}};
}

Plan plan_cron_job(const CronJobWorld& world) {
  return CronPlanner(world).run();
}

}  // namespace yard
