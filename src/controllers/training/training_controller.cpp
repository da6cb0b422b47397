#include "controllers/training/training_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "controllers/batch/claim_pods.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstRetry = 1s, kLongestRetry = 60s;
constexpr size_t kMostTold = 4096;  // remarks remembered of a job; then all may be told again
const Resource kNodeResource{"v1", "Node"};

std::vector<Resource> job_resources() {
  std::vector<Resource> out;
  for (const TrainingKind& kind : training_kinds())
    if (kind.version == "v1")
      out.push_back({std::string(kTrainingGroup) + "/v1", std::string(kind.kind)});
  return out;
}

ObjectKey key_of(const Resource& resource, const Object& object) {
  return {resource, std::string(object.ns()), std::string(object.name())};
}

bool is_training_job(const OwnerRef& owner) {
  return owner.api_version.starts_with(kTrainingGroup) &&
         owner.api_version.substr(kTrainingGroup.size()).starts_with("/") &&
         training_kind(owner.kind, "v1") != nullptr;
}

Duration create_delay(int failures) {
  return std::min<Duration>(kFirstRetry * (1 << std::min(failures - 1, 6)), kLongestRetry);
}

bool is_ready(const Object& node) {
  return condition_status(node.tree(), "Ready") == "True";
}

}  // namespace

TrainingController::TrainingController(Loop& loop, Client& client, TrainingSettings settings)
    : loop_(loop),
      client_(client),
      settings_(std::move(settings)),
      jobs_(loop, client,
            {.name = "training jobs",
             .plan = [this](const ObjectKey& key) { return plan(key); },
             .add_all = [this] { add_all(); },
             .limits = {.longest_retry = kLongestRetry},
             .heard = [this](const ObjectKey& key, const ClientWrite& asked,
                             const Result<ObjectPtr>& answer) { heard(key, asked, answer); },
             .tell = [this](const ObjectKey& key, const EventNote& note) { tell(key, note); }}) {
  for (const Resource& resource : job_resources())
    subscriptions_.push_back(
        client_.follow(resource, [this](const ObjectEvent& event) { hear_job(event); }));
  for (const Resource& resource : {kPodResource, kReplicaServiceResource})
    subscriptions_.push_back(
        client_.follow(resource, [this](const ObjectEvent& event) { hear_dependent(event); }));
  subscriptions_.push_back(
      client_.follow(kNodeResource, [this](const ObjectEvent& event) { hear_node(event); }));
  add_all();
}

TrainingController::~TrainingController() {
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void TrainingController::add_all() {
  for (const Resource& resource : job_resources())
    for (const ObjectPtr& job : client_.list(resource))
      jobs_.add(key_of(resource, *job));
}

void TrainingController::hear_job(const ObjectEvent& event) {
  jobs_.add(key_of(event.resource, *event.object));
}

void TrainingController::hear_dependent(const ObjectEvent& event) {
  for (const Object* object : {event.object.get(), event.previous.get()}) {
    if (object == nullptr) continue;
    const auto owner = controller_of(*object);
    if (!owner || !is_training_job(*owner)) continue;
    jobs_.add({{std::string(kTrainingGroup) + "/v1", std::string(owner->kind)},
               std::string(object->ns()),
               std::string(owner->name)});
    if (event.type != ObjectEvent::Type::Modified || event.previous == nullptr) return;
  }
}

// Only a node that turns bad or goes concerns us, and only jobs with pods that are to leave it.
void TrainingController::hear_node(const ObjectEvent& event) {
  const bool lost = event.type == ObjectEvent::Type::Deleted || !is_ready(*event.object);
  if (!lost) return;
  for (const auto& [key, memory] : memory_) {
    const bool concerned = std::ranges::any_of(memory.pods, [&](const auto& entry) {
      return entry.second.being_deleted && entry.second.node == event.object->name();
    });
    if (concerned) jobs_.add(key);
  }
}

Plan TrainingController::plan(const ObjectKey& key) {
  const ObjectPtr object = client_.get(key.resource, key.ns, key.name);
  if (object == nullptr) {
    memory_.erase(key);
    return {};
  }
  Memory& memory = memory_[key];
  const bool first_look = memory.uid != object->uid();
  if (first_look) memory = {};
  memory.uid = object->uid();
  memory.job = object;
  TrainingJob job = training_job(object->tree());
  if (settings_.gang_restart &&
      text_at(*job.tree, {"metadata", "annotations", kGangRestart}).empty())
    job.gang_restart = true;
  job.cluster_domain = settings_.cluster_domain;
  memory.is_v2 = job.kind->version == "v2beta1";
  // Remarks of before a restart of ours were made then.
  const bool was_known = job.start_time.has_value();
  const TrainingWorld world = observe(std::move(job), memory);
  TrainingPlan planned = plan_training_job(world);
  if (planned.plan.last && list_at(*world.job.tree, {"status", "conditions"}).empty()) {
    ++counts_[{key.ns, world.job.kind->framework}].created;
    mpi_v2_.created += memory.is_v2;
  }
  keep_new_remarks(planned.plan, std::move(planned.remarks), memory, first_look && was_known);
  if (world.job.is_finished() && planned.plan.is_nothing()) memory_.erase(key);
  return std::move(planned.plan);
}

TrainingWorld TrainingController::observe(TrainingJob job, Memory& memory) {
  TrainingWorld world;
  world.job = std::move(job);
  world.now = loop_.now();
  world.settings = settings_;
  observe_dependents(world, memory);
  observe_extras(world);
  for (const ReplicaPod& pod : world.pods) {
    if (!pod.being_deleted || pod.node.empty() || world.lost_nodes.contains(pod.node)) continue;
    const ObjectPtr node = client_.get(kNodeResource, "", pod.node);
    if (node == nullptr || !is_ready(*node)) world.lost_nodes.insert(pod.node);
  }
  if (memory.create_failures > 0) {
    // One pod is tried until that works again.
    const bool waits = memory.create_after > world.now;
    world.most_creates = waits ? 0 : 1;
    if (waits) world.create_again = memory.create_after - world.now;
  }
  return world;
}

void TrainingController::observe_dependents(TrainingWorld& world, Memory& memory) {
  std::unordered_map<std::string, ReplicaPod> seen;
  for (const Client::Dependent& dependent : client_.dependents(world.job.uid)) {
    const Object& object = *dependent.object;
    const auto owner = controller_of(object);
    if (!owner || owner->uid != world.job.uid || object.ns() != world.job.ns) continue;
    if (dependent.resource == kReplicaServiceResource && object.label(kReplicaTypeLabel)) {
      if (!object.is_being_deleted()) world.services.emplace_back(object.name());
      continue;
    }
    if (dependent.resource != kPodResource) continue;
    std::string uid(object.uid());
    const auto known = memory.pods.find(uid);
    const bool is_current =
        known != memory.pods.end() && known->second.revision == object.revision();
    if (is_current) {
      world.pods.push_back(std::move(known->second));
    } else {
      world.pods.push_back(
          replica_pod(world.job, client_.tree(dependent.object), object.revision()));
      const bool had_failed = known != memory.pods.end() && known->second.phase == PodPhase::Failed;
      // Of one that was not known before nobody can say when it failed.
      if (known != memory.pods.end() && !had_failed && world.pods.back().phase == PodPhase::Failed)
        ++children_[world.job.ns].failed_pods;
    }
    seen.emplace(std::move(uid), world.pods.back());
  }
  memory.pods = std::move(seen);
}

void TrainingController::observe_extras(TrainingWorld& world) {
  const Framework& framework = framework_of(*world.job.kind);
  if (framework.extra_objects == nullptr) return;
  for (Json& wanted : framework.extra_objects(world.job, settings_, world.pods)) {
    const Resource resource{std::string(text_at(wanted, {"apiVersion"})),
                            std::string(text_at(wanted, {"kind"}))};
    if (!client_.served(resource)) continue;  // this cluster can do without
    const ObjectPtr existing = client_.get(resource, world.job.ns, name_of(wanted));
    TrainingWorld::Extra extra{std::move(wanted), std::nullopt, false};
    if (existing != nullptr) {
      const auto owner = controller_of(*existing);
      extra.existing = existing->tree();
      extra.is_ours = owner && owner->uid == world.job.uid;
    }
    world.extras.push_back(std::move(extra));
  }
}

void TrainingController::keep_new_remarks(Plan& plan, std::vector<Remark> remarks, Memory& memory,
                                          bool first_look) {
  if (memory.told.size() > kMostTold) memory.told.clear();
  for (Remark& remark : remarks) {
    if (!memory.told.insert(remark.key).second || first_look) continue;
    plan.events.push_back(std::move(remark.note));
  }
}

void TrainingController::heard(const ObjectKey& key, const ClientWrite& asked,
                               const Result<ObjectPtr>& answer) {
  const bool creates = asked.verb == ClientWrite::Verb::Create;
  if (!creates && asked.verb != ClientWrite::Verb::Delete) return;
  const bool of_pod = asked.resource == kPodResource;
  if (!of_pod && asked.resource != kReplicaServiceResource) return;
  const std::string what = of_pod ? "Pod" : "Service";
  count_child(key.ns, of_pod, creates, answer.has_value());
  if (answer) {
    tell(key, {EventNote::Type::Normal, (creates ? "SuccessfulCreate" : "SuccessfulDelete") + what,
               fmt::format("{} {}: {}", creates ? "Created" : "Deleted", of_pod ? "pod" : "service",
                           asked.name)});
    // One that went well beside one that did not is no reason to hurry.
    if (const auto memory = memory_.find(key);
        creates && memory != memory_.end() && memory->second.create_after <= loop_.now())
      memory->second.create_failures = 0;
    return;
  }
  const Error& why = answer.error();
  if (!creates) {
    if (why.reason != Reason::NotFound)
      tell(key,
           {EventNote::Type::Warning, "FailedDelete" + what, "Error deleting: " + why.message});
    return;
  }
  // What is there already is no error, and holds nobody up: the next look sees it.
  if (is_there_already(key, asked)) return;
  if (why.message.find("because it is being terminated") == std::string::npos)
    tell(key, {EventNote::Type::Warning, "FailedCreate" + what, "Error creating: " + why.message});
  const auto memory = memory_.find(key);
  if (memory == memory_.end()) return;
  // Several creates of one pass fail as one. The status must not wait for pods that cannot be made.
  if (memory->second.create_after <= loop_.now())
    memory->second.create_after = loop_.now() + create_delay(++memory->second.create_failures);
  jobs_.add(key);
}

void TrainingController::count_child(const std::string& ns, bool of_pod, bool creates, bool done) {
  Children& children = children_[ns];
  if (of_pod) {
    children.created_pods += creates && done;
    children.deleted_pods += !creates && done;
  } else if (creates) {
    ++(done ? children.created_services : children.failed_services);
  }
}

// A create whose answer was lost, or that a lagging cache asked for twice (R16).
bool TrainingController::is_there_already(const ObjectKey& key, const ClientWrite& asked) const {
  const ObjectPtr there = client_.get(asked.resource, asked.ns, asked.name);
  const auto memory = memory_.find(key);
  if (there == nullptr || memory == memory_.end() || there->is_being_deleted()) return false;
  const auto owner = controller_of(*there);
  return owner && owner->uid == memory->second.uid;
}

void TrainingController::tell(const ObjectKey& key, const EventNote& note) {
  const auto memory = memory_.find(key);
  ObjectPtr job = client_.get(key.resource, key.ns, key.name);
  if (job == nullptr && memory != memory_.end()) job = memory->second.job;
  const TrainingKind* kind = training_kind(key.resource.kind, "v1");
  if (job == nullptr || kind == nullptr) return;
  Counts& counts = counts_[{key.ns, kind->framework}];
  const std::string_view suffix =
      std::string_view(note.reason)
          .substr(std::min(note.reason.size(),
                           note.reason.starts_with(kind->kind) ? kind->kind.size() : 0));
  counts.successful += suffix == "Succeeded";
  counts.failed += suffix == "Failed";
  if (memory != memory_.end() && memory->second.is_v2) {
    mpi_v2_.successful += suffix == "Succeeded";
    mpi_v2_.failed += suffix == "Failed";
  }
  counts.restarted += suffix == "Restarting";
  if (!suffix.empty() && suffix.size() < note.reason.size())
    log_info("{} {}/{}: {}", kind->kind, key.ns, key.name, note.message);
  counts.deleted += note.message.starts_with("Deleted job: ");
  recorder_of(kind->controller).record(key.resource, *job, note);
}

EventRecorder& TrainingController::recorder_of(std::string_view component) {
  const auto known = recorders_.find(component);
  if (known != recorders_.end()) return known->second;
  return recorders_.try_emplace(std::string(component), loop_, client_, std::string(component))
      .first->second;
}

std::string TrainingController::metrics() const {
  std::string out;
  const std::pair<const char*, uint64_t Counts::*> kCounters[] = {
      {"created", &Counts::created},
      {"deleted", &Counts::deleted},
      {"successful", &Counts::successful},
      {"failed", &Counts::failed},
      {"restarted", &Counts::restarted}};
  for (const auto& [name, member] : kCounters) {
    out += fmt::format("# TYPE training_operator_jobs_{}_total counter\n", name);
    for (const auto& [key, counts] : counts_)
      if (counts.*member > 0)
        out += fmt::format(
            "training_operator_jobs_{}_total{{job_namespace=\"{}\",framework=\"{}\"}} {}\n", name,
            key.first, key.second, counts.*member);
  }
  const std::pair<const char*, uint64_t Children::*> kChildren[] = {
      {"created_pods", &Children::created_pods},
      {"deleted_pods", &Children::deleted_pods},
      {"failed_pods", &Children::failed_pods},
      {"succeeded_service_creation", &Children::created_services},
      {"failed_service_creation", &Children::failed_services}};
  for (const auto& [name, member] : kChildren) {
    out += fmt::format("# TYPE {}_total counter\n", name);
    for (const auto& [ns, children] : children_)
      if (children.*member > 0)
        out += fmt::format("{}_total{{job_namespace=\"{}\"}} {}\n", name, ns, children.*member);
  }
  // No PodGroups are made here: the scheduler reads the pods themselves.
  for (const char* name : {"created_pod_groups", "deleted_pod_groups"})
    out += fmt::format("# TYPE {0}_total counter\n{0}_total 0\n", name);
  return out + mpi_metrics();
}

std::string TrainingController::mpi_metrics() const {
  std::string out;
  const std::pair<const char*, uint64_t> kCounters[] = {
      {"created", mpi_v2_.created}, {"successful", mpi_v2_.successful}, {"failed", mpi_v2_.failed}};
  for (const auto& [name, count] : kCounters)
    out +=
        fmt::format("# TYPE mpi_operator_jobs_{0}_total counter\nmpi_operator_jobs_{0}_total {1}\n",
                    name, count);
  out += "# TYPE mpi_operator_job_info gauge\n";
  for (const auto& [key, memory] : memory_)
    if (memory.is_v2)
      out += fmt::format("mpi_operator_job_info{{launcher=\"{}-launcher\",namespace=\"{}\"}} 1\n",
                         key.name, key.ns);
  return out;
}

}  // namespace yard
