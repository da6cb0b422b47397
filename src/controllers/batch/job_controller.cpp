#include "controllers/batch/job_controller.h"

#include <algorithm>

#include "api/content.h"
#include "api/selectors.h"
#include "api/tree.h"
#include "base/strings.h"
#include "controllers/batch/claim_pods.h"
#include "controllers/batch/job_pod.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

// More of what is there at a start is heard when fewer than these wait to be planned.
constexpr size_t kMostWaiting = 1000;
constexpr Duration kFirstRetry = 1s, kLongestRetry = 60s;
constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr size_t kPhaseField = 6;  // status.phase among a pod's selectable fields

ObjectKey key_of(const Resource& resource, const Object& object) {
  return {resource, std::string(object.ns()), std::string(object.name())};
}

bool is_job(const OwnerRef& owner) {
  return owner.kind == kJobResource.kind && owner.api_version == kJobResource.api_version;
}

// Without parsing: selectors of their own are rare.
bool has_manual_selector(const Object& job) {
  return content_has(job, R"("manualSelector":true)");
}

// Nor does a Job that another controller has need a parser.
bool is_managed_elsewhere(const Object& job) {
  const std::string_view manager = text_in_content(content(job), "spec", "managedBy");
  return !manager.empty() && manager != kJobController;
}

// Ended and free of finalizers: whatever it counted for, it has.
bool is_counted(const Object& pod) {
  if (pod.has_finalizers() || pod.fields().size() <= kPhaseField) return false;
  const std::string_view phase = pod.fields()[kPhaseField];
  return phase == "Succeeded" || phase == "Failed";
}

Duration create_delay(int failures) {
  return std::min<Duration>(kFirstRetry * (1 << std::min(failures - 1, 6)), kLongestRetry);
}

bool is_ending_namespace(const Error& why) {
  return why.reason == Reason::Forbidden &&
         why.message.find("because it is being terminated") != std::string::npos;
}

}  // namespace

JobController::JobController(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      recorder_(loop, client, "job-controller"),
      jobs_(loop, client,
            {.name = "jobs",
             .plan = [this](const ObjectKey& key) { return plan(key); },
             .add_all = [this] { add_all(); },
             .limits = {.first_retry = kFirstRetry, .longest_retry = kLongestRetry},
             .heard = [this](const ObjectKey& key, const ClientWrite& asked,
                             const Result<ObjectPtr>& answer) { heard(key, asked, answer); },
             .tell = [this](const ObjectKey& key, const EventNote& note) { tell(key, note); },
             .ended = [this](const ObjectKey& key, bool went_well) { ended(key, went_well); }}),
      pods_(loop, client,
            {.name = "job finalizers",
             .plan = [this](const ObjectKey& key) { return plan_orphan(key); },
             .add_all = [this] { add_all(); },
             .limits = {.longest_retry = kLongestRetry}}),
      first_hearing_(loop, client) {
  job_events_ = client_.follow(kJobResource, [this](const ObjectEvent& event) { hear_job(event); });
  pod_events_ = client_.follow(kPodResource, [this](const ObjectEvent& event) { hear_pod(event); });
  add_all();
}

JobController::~JobController() {
  client_.unfollow(pod_events_);
  client_.unfollow(job_events_);
}

// Plans look at the store itself, and at the orphans: those must be known before the first of them.
// All else may be heard late.
void JobController::add_all() {
  remember_orphans();
  const auto is_busy = [this] { return jobs_.waiting() + pods_.waiting() >= kMostWaiting; };
  const auto hear_pods = [this, is_busy] {
    first_hearing_.begin(
        kPodResource,
        {.hear = [this](const ObjectPtr& pod) { follow_pod(*pod, false); }, .is_busy = is_busy});
  };
  first_hearing_.begin(kJobResource,
                       {.hear =
                            [this](const ObjectPtr& job) {
                              hear_job({ObjectEvent::Type::Added, kJobResource, job, nullptr});
                            },
                        .is_busy = is_busy,
                        .then = hear_pods});
}

void JobController::remember_orphans() {
  for (const ObjectPtr& pod : client_.list(kPodResource))
    if (!pod->is_being_deleted() && !controller_of(*pod))
      orphans_[std::string(pod->ns())].insert(std::string(pod->name()));
}

void JobController::hear_job(const ObjectEvent& event) {
  const Object& job = *event.object;
  const ObjectKey key = key_of(kJobResource, job);
  if (event.type == ObjectEvent::Type::Deleted) {
    memory_.erase(key);
    manual_.erase(key);
    job_names_.erase(hash_bytes(job.uid()));
    // Pods it leaves behind must not keep its finalizer.
    for (const Client::Dependent& dependent : client_.dependents(job.uid()))
      if (dependent.resource == kPodResource && dependent.object->has_finalizers())
        pods_.add(key_of(kPodResource, *dependent.object));
    return;
  }
  job_names_[hash_bytes(job.uid())] = key.name;
  if (has_manual_selector(job)) manual_.insert(key);
  jobs_.add(key);
}

void JobController::hear_pod(const ObjectEvent& event) {
  if (event.previous != nullptr) {
    const auto before = controller_of(*event.previous);
    if (before && is_job(*before))
      jobs_.add({kJobResource, std::string(event.previous->ns()), std::string(before->name)});
  }
  follow_pod(*event.object, event.type == ObjectEvent::Type::Deleted);
}

void JobController::follow_pod(const Object& pod, bool gone) {
  const auto owner = controller_of(pod);
  std::set<std::string>& orphans = orphans_[std::string(pod.ns())];
  if (owner || gone || pod.is_being_deleted()) {
    orphans.erase(std::string(pod.name()));
  } else {
    orphans.insert(std::string(pod.name()));
    add_matching_jobs(pod);
  }
  if (orphans.empty()) orphans_.erase(std::string(pod.ns()));
  if (owner && is_job(*owner)) {
    jobs_.add({kJobResource, std::string(pod.ns()), std::string(owner->name)});
    const ObjectPtr job = client_.get(kJobResource, pod.ns(), owner->name);
    if (job != nullptr && job->uid() == owner->uid) return;
  } else if (owner) {
    return;
  }
  if (pod.has_finalizers() && !gone) pods_.add(key_of(kPodResource, pod));
}

void JobController::add_matching_jobs(const Object& pod) {
  if (const auto uid = pod.label(kUidLabel)) {
    const auto job = job_names_.find(hash_bytes(*uid));
    if (job != job_names_.end()) jobs_.add({kJobResource, std::string(pod.ns()), job->second});
  }
  for (const ObjectKey& job : manual_)
    if (job.ns == pod.ns()) jobs_.add(job);
}

Plan JobController::plan(const ObjectKey& key) {
  const ObjectPtr object = client_.get(kJobResource, key.ns, key.name);
  if (object == nullptr) {
    memory_.erase(key);
    return {};
  }
  if (is_managed_elsewhere(*object)) {
    memory_.erase(key);
    return {};
  }
  JobFacts facts = job_facts(object->tree());
  if (facts.is_finished() || !facts.is_ours()) {
    memory_.erase(key);
    if (!facts.is_ours()) return {};
    for (const Client::Dependent& dependent : client_.dependents(facts.uid))
      if (dependent.resource == kPodResource && dependent.object->has_finalizers())
        pods_.add(key_of(kPodResource, *dependent.object));
    return {};
  }
  Memory& memory = memory_[key];
  JobPlan planned = plan_job(observe(*object, std::move(facts), memory));
  memory.next_backoff = planned.backoff;
  return std::move(planned.plan);
}

JobWorld JobController::observe(const Object& object, JobFacts facts, Memory& memory) {
  const bool first_look = memory.uid != object.uid();
  if (first_look) {
    memory = {};
    memory.uid = object.uid();
  }
  JobWorld world;
  world.job = std::move(facts);
  world.now = loop_.now();
  observe_owned(world, memory, first_look);
  if (!world.job.being_deleted) observe_orphans(world);
  world.backoff = memory.backoff;
  if (memory.create_failures > 0) {
    // One pod is tried until that works again; its answer brings the next look.
    const bool waits = memory.create_after > world.now;
    world.most_creates = waits ? 0 : 1;
    if (waits) world.create_again = memory.create_after - world.now;
  }
  return world;
}

void JobController::observe_owned(JobWorld& world, Memory& memory, bool first_look) {
  const JobFacts& job = world.job;
  const Json* selector_json = find_path(*job.tree, {"spec", "selector"});
  const auto selector =
      LabelSelector::from_json(selector_json != nullptr ? *selector_json : Json(JsonObject()));
  std::unordered_map<std::string, PodFacts> seen;
  std::vector<PodFacts> counted;
  for (const Client::Dependent& dependent : client_.dependents(job.uid)) {
    if (dependent.resource != kPodResource) continue;
    const Object& pod = *dependent.object;
    const auto owner = controller_of(pod);
    if (!owner || owner->uid != job.uid || pod.ns() != job.ns) continue;
    if (selector && !selector->matches(pod)) {
      if (!job.being_deleted)
        world.claims.push_back(release_claim(job, pod.tree(), pod.revision()));
      continue;
    }
    if (is_counted(pod)) {
      if (first_look) counted.push_back(pod_facts(pod.tree(), pod.revision()));
      continue;
    }
    const std::string uid(pod.uid());
    const auto known = memory.pods.find(uid);
    const bool is_current = known != memory.pods.end() && known->second.revision == pod.revision();
    world.pods.push_back(is_current ? std::move(known->second)
                                    : pod_facts(pod.tree(), pod.revision()));
    seen.emplace(uid, world.pods.back());
  }
  memory.pods = std::move(seen);
  if (!first_look) return;
  // After a restart the back-off goes on where it was, as far as the pods tell.
  PodRefs succeeded, failed;
  for (const PodFacts& pod : counted)
    (pod.phase == PodPhase::Succeeded ? succeeded : failed).push_back(&pod);
  for (const PodFacts& pod : world.pods) {
    if (std::ranges::find(job.uncounted_failed, pod.uid) != job.uncounted_failed.end())
      failed.push_back(&pod);
    if (std::ranges::find(job.uncounted_succeeded, pod.uid) != job.uncounted_succeeded.end())
      succeeded.push_back(&pod);
  }
  memory.backoff = next_backoff({}, succeeded, failed);
}

void JobController::observe_orphans(JobWorld& world) {
  const auto names = orphans_.find(world.job.ns);
  if (names == orphans_.end()) return;
  const Json* selector_json = find_path(*world.job.tree, {"spec", "selector"});
  if (selector_json == nullptr) return;
  const auto selector = LabelSelector::from_json(*selector_json);
  if (!selector || selector->is_everything()) return;
  for (const std::string& name : names->second) {
    const ObjectPtr pod = client_.get(kPodResource, world.job.ns, name);
    if (pod == nullptr || pod->is_being_deleted() || controller_of(*pod) ||
        !selector->matches(*pod))
      continue;
    world.claims.push_back(adoption(world.job, pod->tree(), pod->revision()));
  }
}

Plan JobController::plan_orphan(const ObjectKey& key) {
  const ObjectPtr pod = client_.get(kPodResource, key.ns, key.name);
  if (pod == nullptr || !pod->has_finalizers()) return {};
  JobFacts job;
  job.ns = key.ns;
  if (const auto owner = controller_of(*pod)) {
    if (!is_job(*owner)) return {};
    const ObjectPtr object = client_.get(kJobResource, key.ns, owner->name);
    if (object != nullptr && object->uid() == owner->uid) {
      const JobFacts live = job_facts(object->tree());
      if (!live.is_ours() || !live.is_finished()) return {};
    }
  }
  const PodFacts facts = pod_facts(pod->tree(), pod->revision());
  if (!facts.is_tracked()) return {};
  Plan out;
  out.writes.push_back(release_pod(job, facts, true));
  return out;
}

void JobController::heard(const ObjectKey& key, const ClientWrite& asked,
                          const Result<ObjectPtr>& answer) {
  if (asked.resource != kPodResource) return;
  const bool creates = asked.verb == ClientWrite::Verb::Create;
  if (!creates && asked.verb != ClientWrite::Verb::Delete) return;
  if (answer) {
    const std::string name =
        creates && *answer != nullptr ? std::string((*answer)->name()) : asked.name;
    tell(key, {EventNote::Type::Normal, creates ? "SuccessfulCreate" : "SuccessfulDelete",
               (creates ? "Created pod: " : "Deleted pod: ") + name});
    // One that went well beside one that did not is no reason to hurry.
    if (const auto memory = memory_.find(key);
        creates && memory != memory_.end() && memory->second.create_after <= loop_.now())
      memory->second.create_failures = 0;
    return;
  }
  const Error& why = answer.error();
  if (!creates) {
    if (why.reason != Reason::NotFound)
      tell(key, {EventNote::Type::Warning, "FailedDelete", "Error deleting: " + why.message});
    return;
  }
  if (!is_ending_namespace(why))
    tell(key, {EventNote::Type::Warning, "FailedCreate", "Error creating: " + why.message});
  const auto memory = memory_.find(key);
  if (memory == memory_.end()) return;
  // Several creates of one pass fail as one.
  if (memory->second.create_after <= loop_.now()) {
    memory->second.create_after = loop_.now() + create_delay(++memory->second.create_failures);
  }
  // The status must not wait for pods that cannot be made.
  jobs_.add(key);
}

void JobController::tell(const ObjectKey& key, const EventNote& note) {
  const ObjectPtr job = client_.get(kJobResource, key.ns, key.name);
  if (job != nullptr) recorder_.record(kJobResource, *job, note);
}

void JobController::ended(const ObjectKey& key, bool went_well) {
  const auto memory = memory_.find(key);
  if (went_well && memory != memory_.end()) memory->second.backoff = memory->second.next_backoff;
}

}  // namespace yard
