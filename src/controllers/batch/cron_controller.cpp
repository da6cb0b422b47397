#include "controllers/batch/cron_controller.h"

#include "controllers/batch/claim_pods.h"
#include "controllers/batch/job_facts.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

ObjectKey key_of(const Object& cron) {
  return {kCronJobResource, std::string(cron.ns()), std::string(cron.name())};
}

}  // namespace

CronController::CronController(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      recorder_(loop, client, "cronjob-controller"),
      controller_(
          loop, client,
          {.name = "cron jobs",
           .plan = [this](const ObjectKey& key) { return plan(key); },
           .limits = {.first_retry = 1s, .longest_retry = 60s},
           .heard = [this](const ObjectKey& key, const ClientWrite& asked,
                           const Result<ObjectPtr>& answer) { heard(key, asked, answer); },
           .tell = [this](const ObjectKey& key, const EventNote& note) { tell(key, note); }}) {
  crons_ = client_.follow(kCronJobResource, [this](const ObjectEvent& event) {
    if (event.type != ObjectEvent::Type::Deleted) controller_.add(key_of(*event.object));
  });
  jobs_ =
      client_.follow(kJobResource, [this](const ObjectEvent& event) { hear_job(*event.object); });
  for (const ObjectPtr& cron : client_.list(kCronJobResource))
    controller_.add(key_of(*cron));
}

CronController::~CronController() {
  client_.unfollow(jobs_);
  client_.unfollow(crons_);
}

void CronController::hear_job(const Object& job) {
  const auto owner = controller_of(job);
  if (owner && owner->kind == kCronJobResource.kind)
    controller_.add({kCronJobResource, std::string(job.ns()), std::string(owner->name)});
}

Plan CronController::plan(const ObjectKey& key) {
  const ObjectPtr cron = client_.get(kCronJobResource, key.ns, key.name);
  if (cron == nullptr) return {};
  CronJobWorld world{cron->tree(), {}, loop_.now()};
  for (const Client::Dependent& dependent : client_.dependents(cron->uid())) {
    const auto owner = controller_of(*dependent.object);
    if (dependent.resource == kJobResource && owner && owner->uid == cron->uid())
      world.jobs.push_back(dependent.object->tree());
  }
  return plan_cron_job(world);
}

void CronController::heard(const ObjectKey& key, const ClientWrite& asked,
                           const Result<ObjectPtr>& answer) {
  if (asked.resource != kJobResource) return;
  const bool creates = asked.verb == ClientWrite::Verb::Create;
  if (answer) {
    tell(key, {EventNote::Type::Normal, creates ? "SuccessfulCreate" : "SuccessfulDelete",
               (creates ? "Created job " : "Deleted job ") + asked.name});
  } else if (creates) {
    tell(key, {EventNote::Type::Warning, "FailedCreate",
               "Error creating job: " + answer.error().message});
  } else if (answer.error().reason != Reason::NotFound) {
    tell(key, {EventNote::Type::Warning, "FailedDelete", "Deleted job: " + answer.error().message});
  }
}

void CronController::tell(const ObjectKey& key, const EventNote& note) {
  const ObjectPtr cron = client_.get(kCronJobResource, key.ns, key.name);
  if (cron != nullptr) recorder_.record(kCronJobResource, *cron, note);
}

}  // namespace yard
