#include "controllers/batch/ttl.h"

#include "api/content.h"
#include "api/tree.h"
#include "controllers/batch/job_facts.h"

namespace yard {

std::optional<Time> expiry(const Json& job) {
  const Json* ttl = find_path(job, {"spec", "ttlSecondsAfterFinished"});
  if (ttl == nullptr || ttl->is_null()) return std::nullopt;
  for (const Json& condition : list_at(job, {"status", "conditions"})) {
    const std::string_view type = text_at(condition, {"type"});
    if ((type != "Complete" && type != "Failed") || text_at(condition, {"status"}) != "True")
      continue;
    const auto finished = time_at(condition, {"lastTransitionTime"});
    if (finished)
      return *finished + std::chrono::seconds(int_at(job, {"spec", "ttlSecondsAfterFinished"}));
  }
  return std::nullopt;
}

Plan plan_expiry(const Json& job, Time now) {
  const auto due = expiry(job);
  if (!due || is_being_deleted(job)) return {};
  Plan plan;
  if (*due > now) {
    plan.requeue_after = *due - now;
    return plan;
  }
  // Only the Job that was read: a ttl changed at the last moment counts.
  JsonObject preconditions{{"uid", text_at(job, {"metadata", "uid"})},
                           {"resourceVersion", text_at(job, {"metadata", "resourceVersion"})}};
  plan.writes.push_back({ClientWrite::Verb::Delete, kJobResource,
                         std::string(text_at(job, {"metadata", "namespace"})),
                         std::string(name_of(job)),
                         JsonObject{{"propagationPolicy", "Foreground"},
                                    {"preconditions", std::move(preconditions)}}});
  return plan;
}

JobTtl::JobTtl(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      controller_(loop, client,
                  {.name = "job ttl",
                   .plan = [this](const ObjectKey& key) -> Plan {
                     const ObjectPtr job = client_.get(kJobResource, key.ns, key.name);
                     return job == nullptr ? Plan{} : plan_expiry(job->tree(), loop_.now());
                   }}),
      first_hearing_(loop, client) {
  events_ = client_.follow(kJobResource, [this](const ObjectEvent& event) {
    if (event.type != ObjectEvent::Type::Deleted) hear(*event.object);
  });
  first_hearing_.begin(kJobResource, {.hear = [this](const ObjectPtr& job) { hear(*job); }});
}

JobTtl::~JobTtl() {
  client_.unfollow(events_);
}

// Without parsing: most Jobs have no ttl, and those that have are looked at when they have ended.
void JobTtl::hear(const Object& job) {
  if (!content_has(job, R"("ttlSecondsAfterFinished":)") ||
      !(content_has(job, R"("Complete")") || content_has(job, R"("Failed")")))
    return;
  controller_.add({kJobResource, std::string(job.ns()), std::string(job.name())});
}

}  // namespace yard
