#include "controllers/training/plan_training_job.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/clean_up.h"
#include "controllers/training/gang.h"
#include "controllers/training/training_end.h"

namespace yard {
namespace {

constexpr std::string_view kAutoscaler = "HorizontalPodAutoscaler";

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

class Planner {
 public:
  explicit Planner(const TrainingWorld& world)
      : world_(world),
        job_(world.job),
        standing_(training_standing(job_, world.pods)),
        status_(job_) {}

  TrainingPlan run() {
    if (!job_.is_ours || job_.being_deleted) return {};
    status_.set(state("Created", fmt::format("{} {} is created.", job_.kind->kind, job_.name)),
                world_.now);
    if (job_.is_finished()) {
      plan_finished();
    } else if (job_.suspend) {
      plan_suspended();
    } else if (job_.is_true("Suspended")) {
      plan_resumed();
    } else {
      plan_active();
    }
    if (!expired_) out_.plan.last = status_write(job_, status_);
    return std::move(out_);
  }

 private:
  JobState state(std::string_view type, std::string message) const {
    return {type, true, std::string(job_.kind->kind) + std::string(type), std::move(message)};
  }
  void tell(EventNote::Type type, std::string reason, std::string message) {
    out_.plan.events.push_back({type, std::move(reason), std::move(message)});
  }
  void write(ClientWrite write) { out_.plan.writes.push_back(std::move(write)); }
  void look_again_at(Time at) {
    const Duration after = std::max(Duration::zero(), at - world_.now);
    out_.plan.requeue_after = std::min(out_.plan.requeue_after.value_or(after), after);
  }

  // --- a job that goes on

  void plan_active() {
    add_remarks();
    if (const auto end = training_end(job_, standing_, world_.pods, world_.now))
      return finish(*end);
    std::vector<const ReplicaPod*> fresh = new_restarts();
    const int counted = count_of(fresh);
    if (counted > 0 && exceeds_backoff(job_, standing_, counted))
      return finish(backoff_end(job_, standing_));
    if (!status_.start_time) status_.start_time = world_.now;
    forget_gone_restarts();
    remove_pods();
    if (!fresh.empty()) {
      record_restart(fresh, counted);
    } else if (has_lost_member()) {
      start_over_together("was disrupted");
    } else {
      if (ensure_extras()) create_missing();
      note_running();
    }
    status_.count(job_, standing_);
    if (status_.generation != job_.generation) status_.completed.clear();
    if (const auto deadline = deadline_at(job_, status_.start_time)) look_again_at(*deadline);
  }

  void finish(const TrainingEnd& end) {
    status_.count(job_, standing_);
    if (!status_.start_time) status_.start_time = world_.now;
    status_.completion_time = world_.now;
    status_.restarting.clear();
    status_.restart_after.reset();
    const JobState last = state(end.success ? "Succeeded" : "Failed", end.message);
    if (status_.set(last, world_.now)) tell(end.note, last.reason, last.message);
  }

  std::vector<const ReplicaPod*> new_restarts() const {
    std::vector<const ReplicaPod*> out;
    for (const GroupStanding& group : standing_.groups) {
      for (const ReplicaPod* pod : group.restart)
        if (!contains(job_.restarting, pod->uid)) out.push_back(pod);
      if (!world_.settings.counts_disruptions) continue;
      // One that leaves is made again without a word; to count it, it is written down like others.
      for (const ReplicaPod* pod : group.slots)
        if (pod != nullptr && pod->is_disrupted && !contains(job_.restarting, pod->uid) &&
            fate_of(job_, *group.group, *pod) == PodFate::Leaving)
          out.push_back(pod);
    }
    return out;
  }

  // Failures of one moment are one incident where all start over together.
  int count_of(const std::vector<const ReplicaPod*>& pods) const {
    const auto failed = std::ranges::count_if(pods, [&](const ReplicaPod* pod) {
      return world_.settings.counts_disruptions || !pod->is_disrupted;
    });
    return static_cast<int>(job_.gang_restart ? std::min<std::ptrdiff_t>(failed, 1) : failed);
  }

  void forget_gone_restarts() {
    std::erase_if(status_.restarting, [&](const std::string& uid) {
      return std::ranges::none_of(world_.pods,
                                  [&](const ReplicaPod& pod) { return pod.uid == uid; });
    });
  }

  // A restart is written down before the pod goes: whatever fails in between, it counts once.
  void record_restart(const std::vector<const ReplicaPod*>& pods, int counted) {
    status_.restarts += counted;
    const Duration delay = counted > 0 ? restart_delay(status_.restarts) : Duration::zero();
    if (delay > Duration::zero()) status_.restart_after = world_.now + delay;
    if (job_.gang_restart) {
      ++status_.generation;
      status_.restarting.clear();
    } else {
      for (const ReplicaPod* pod : pods)
        status_.restarting.push_back(pod->uid);
    }
    std::string message =
        with_first_failure(restarting_message(job_, type_of(*pods.front())), pods.front());
    if (delay > Duration::zero())
      message += fmt::format("; restart {} follows in {}", status_.restarts, human_duration(delay));
    set_restarting(std::move(message));
  }

  std::string_view type_of(const ReplicaPod& pod) const {
    for (const ReplicaGroup& group : job_.groups)
      if (group.label == pod.label) return group.type;
    return pod.label;
  }

  void set_restarting(std::string message) {
    const JobState next = state("Restarting", std::move(message));
    status_.set(next, world_.now);
    tell(EventNote::Type::Warning, next.reason, next.message);
  }

  // With gang restart a rank that goes takes the others along: they would wait for it forever.
  bool has_lost_member() const {
    if (!job_.gang_restart) return false;
    return std::ranges::any_of(standing_.groups, [&](const GroupStanding& group) {
      return std::ranges::any_of(group.slots, [&](const ReplicaPod* pod) {
        return pod != nullptr && fate_of(job_, *group.group, *pod) == PodFate::Leaving;
      });
    });
  }

  void start_over_together(std::string_view why) {
    ++status_.generation;
    set_restarting(fmt::format("job {} is restarting because a replica {}.", job_.name, why));
  }

  void remove_pods() {
    for (const ReplicaPod* pod : standing_.strays)
      remove_pod(*pod, true);
    for (const GroupStanding& group : standing_.groups) {
      // From the highest index down, as a scale-down goes.
      for (auto at = group.surplus.rbegin(); at != group.surplus.rend(); ++at) {
        const bool beyond = !(*at)->index || *(*at)->index >= group.group->replicas;
        remove_pod(**at, beyond);
      }
      for (const ReplicaPod* pod : group.slots)
        if (pod != nullptr && contains(job_.restarting, pod->uid)) remove_pod(*pod, false);
    }
    for (const ReplicaPod& pod : world_.pods)
      force_out(pod);
  }

  void remove_pod(const ReplicaPod& pod, bool with_service) {
    if (!pod.being_deleted) write(delete_replica(job_, pod));
    if (with_service && contains(world_.services, pod.name)) write(delete_service(job_, pod.name));
  }

  // The node that would let it go is lost (R8).
  void force_out(const ReplicaPod& pod) {
    if (!world_.settings.frees_lost_pods) return;
    if (!pod.being_deleted || !world_.lost_nodes.contains(pod.node)) return;
    const Time at = pod.deletion_due + world_.settings.lost_after;
    if (world_.now >= at) {
      write(force_delete_replica(job_, pod));
    } else {
      look_again_at(at);
    }
  }

  bool waits_for_restart() const {
    return status_.restart_after && *status_.restart_after > world_.now;
  }

  // Of an attempt that was given up: the next one begins when all are gone.
  bool has_old_pods() const {
    return job_.gang_restart && std::ranges::any_of(world_.pods, [&](const ReplicaPod& pod) {
             return pod.generation != job_.generation;
           });
  }

  void create_missing() {
    if (waits_for_restart()) return look_again_at(*status_.restart_after);
    if (status_.restart_after) status_.restart_after.reset();
    if (has_old_pods()) return;
    if (world_.create_again) look_again_at(world_.now + *world_.create_again);
    const Framework& framework = framework_of(*job_.kind);
    const std::unordered_set<std::string_view> services(world_.services.begin(),
                                                        world_.services.end());
    const int size = gang_size(job_, standing_, world_.pods);
    for (const ReplicaPod& pod : world_.pods)
      if (pod.node.empty() && !pod.being_deleted && pod.phase == PodPhase::Pending &&
          pod.gang_size != std::to_string(size))
        write(set_gang_size(job_, pod, size));
    std::string shared;
    bool is_shared_made = false;
    size_t left = std::min(world_.most_creates, world_.settings.most_creates);
    std::vector<ClientWrite> pods;
    for (const GroupStanding& group : standing_.groups) {
      const bool may_start =
          framework.may_start == nullptr || framework.may_start(job_, *group.group, world_.pods);
      std::optional<PodMaker> maker;
      for (int index = 0; index < group.group->replicas && may_start; ++index) {
        if (group.slots[static_cast<size_t>(index)] != nullptr || group.completed.contains(index))
          continue;
        if (left == 0) {
          if (world_.most_creates > 0 && !world_.create_again) look_again_at(world_.now);
          break;
        }
        --left;
        if (!is_shared_made && framework.shared != nullptr) shared = framework.shared(job_);
        is_shared_made = true;
        if (!maker) maker.emplace(job_, *group.group, shared, world_.settings, size);
        if (framework.has_services && !services.contains(replica_name(job_, *group.group, index)))
          write(create_object(job_, replica_service(job_, *group.group, index)));
        pods.push_back(create_object(job_, maker->make(index)));
      }
      if (maker && group.group->template_names_restart) remark_template_policy();
    }
    // Services first: they are cheap, and names resolve when the pods ask for them.
    std::ranges::move(pods, std::back_inserter(out_.plan.writes));
  }

  void note_running() {
    const GroupStanding* leader = standing_.of(job_.leader());
    if (leader == nullptr || leader->active == 0 || !status_.restarting.empty() ||
        waits_for_restart() || has_old_pods())
      return;
    status_.set(state("Running", running_message(job_)), world_.now);
  }

  // --- objects beside pods and Services

  // Answers whether all are there and nobody else's object stands in the way.
  bool ensure_extras() {
    bool is_ready = true;
    for (const TrainingWorld::Extra& extra : world_.extras) {
      const std::string_view kind = text_at(extra.wanted, {"kind"});
      if (extra.existing && !extra.is_ours && kind != "ServiceAccount") {
        is_ready = false;
        remark(
            fmt::format("exists {}", kind), EventNote::Type::Warning, "ErrResourceExists",
            fmt::format("Resource \"{}\" of {}Kind \"{}\" already exists and is not managed by {}",
                        name_of(extra.wanted), job_.kind->kind, kind, job_.kind->kind));
      } else if (!extra.existing) {
        // Pods may need it to be admitted: they come with the next look.
        write(create_object(job_, extra.wanted));
        look_again_at(world_.now);
        is_ready = false;
      } else if (extra.is_ours && !holds(*extra.existing, extra.wanted)) {
        Json next = extra.wanted;
        next.get_object()["metadata"] = *find(*extra.existing, "metadata");
        ClientWrite update = create_object(job_, std::move(next));
        update.verb = ClientWrite::Verb::Update;
        write(std::move(update));
      }
    }
    return is_ready;
  }

  // Whether all that is wanted, outside metadata, is there; the server may have added to it.
  static bool holds(const Json& existing, const Json& wanted) {
    if (!wanted.is_object() || !existing.is_object()) return equal(existing, wanted);
    return std::ranges::all_of(wanted.get_object(), [&](const auto& member) {
      if (member.key() == "metadata") return true;
      const Json* there = find(existing, member.key());
      return there != nullptr && holds(*there, member.value());
    });
  }

  void remove_autoscaler() {
    for (const TrainingWorld::Extra& extra : world_.extras) {
      if (!extra.existing || !extra.is_ours || text_at(extra.wanted, {"kind"}) != kAutoscaler)
        continue;
      ClientWrite gone = create_object(job_, extra.wanted);
      gone.verb = ClientWrite::Verb::Delete;
      gone.object = JsonObject{{"propagationPolicy", "Background"}};
      write(std::move(gone));
    }
  }

  // --- a job that is held back

  void plan_suspended() {
    for (const ReplicaPod& pod : world_.pods) {
      if (!pod.being_deleted) write(delete_replica(job_, pod));
      force_out(pod);
    }
    for (const std::string& service : world_.services)
      write(delete_service(job_, service));
    remove_autoscaler();
    for (auto& member : status_.replicas)
      if (member.value().is_object()) member.value().get_object().erase("active");
    status_.restarting.clear();
    status_.restart_after.reset();
    status_.completed.clear();
    JobState held =
        state("Suspended", fmt::format("{} {} is suspended.", job_.kind->kind, job_.name));
    if (job_.is_true("Running")) {
      JobState running = held;
      running.type = "Running";
      running.is_true = false;
      status_.set(running, world_.now);
    }
    if (status_.set(held, world_.now)) tell(EventNote::Type::Normal, held.reason, held.message);
  }

  // The deadline starts anew, and so does the work.
  void plan_resumed() {
    JobState going{"Suspended", false, std::string(job_.kind->kind) + "Resumed",
                   fmt::format("{} {} is resumed.", job_.kind->kind, job_.name)};
    status_.start_time = world_.now;
    status_.completed.clear();
    if (status_.set(going, world_.now)) tell(EventNote::Type::Normal, going.reason, going.message);
  }

  // --- a job that is over

  void plan_finished() {
    if (!status_.completion_time) status_.completion_time = world_.now;
    if (const auto expiry = expiry_of(job_, status_.completion_time)) {
      if (world_.now >= *expiry) return expire();
      look_again_at(*expiry);
    }
    const CleanUp todo = clean_up(job_, standing_, world_.pods, world_.settings, world_.now);
    for (const ReplicaPod* pod : todo.remove)
      remove_pod(*pod, true);
    for (const ReplicaPod* pod : todo.stop)
      write(stop_replica(job_, *pod));
    if (todo.again) look_again_at(*todo.again);
    for (const ReplicaPod& pod : world_.pods)
      force_out(pod);
    remove_autoscaler();
    settle_counts();
  }

  void expire() {
    expired_ = true;
    write({ClientWrite::Verb::Delete, job_.resource(), job_.ns, job_.name,
           JsonObject{{"propagationPolicy", "Background"},
                      {"preconditions", JsonObject{{"uid", job_.uid}}}}});
    const bool of_job = job_.kind->kind == "TFJob" || job_.kind->kind == "XGBoostJob" ||
                        job_.kind->kind == "MPIJob";
    tell(EventNote::Type::Normal, of_job ? "SuccessfulDeleteJob" : "SuccessfulDeletePod",
         "Deleted job: " + job_.name);
  }

  // What ran at a success belongs to it; after a failure the count follows what still runs.
  void settle_counts() {
    const bool success = job_.is_true("Succeeded");
    for (const GroupStanding& group : standing_.groups) {
      Json* counts = status_.replicas.if_contains(group.group->type);
      if (counts == nullptr || !counts->is_object()) continue;
      const int64_t active = int_at(*counts, {"active"});
      const int64_t succeeded = int_at(*counts, {"succeeded"});
      counts->get_object().erase("active");
      if (success && active > 0) counts->get_object()["succeeded"] = succeeded + active;
      if (!success && group.active > 0) counts->get_object()["active"] = group.active;
    }
  }

  // --- what people are told once

  void remark(std::string key, EventNote::Type type, std::string reason, std::string message) {
    out_.remarks.push_back({std::move(key), {type, std::move(reason), std::move(message)}});
  }

  void remark_template_policy() {
    remark("template restart policy", EventNote::Type::Warning, "SetPodTemplateRestartPolicy",
           "Restart policy in pod template will be overwritten by restart policy in replica spec");
  }

  void add_remarks() {
    for (const ReplicaPod& pod : world_.pods) {
      if (pod.exit_code)
        remark(fmt::format("{} exit {}", pod.uid, pod.restarts), EventNote::Type::Normal,
               "ExitedWithCode",
               fmt::format("Pod: {}.{} exited with code {}", job_.ns, pod.name, *pod.exit_code));
      for (const ReplicaPod::Trouble& trouble : pod.troubles)
        remark(fmt::format("{} {} {}", pod.uid, trouble.reason, trouble.message),
               EventNote::Type::Warning, trouble.reason, trouble.message);
    }
  }

  const TrainingWorld& world_;
  const TrainingJob& job_;
  const TrainingStanding standing_;
  TrainingStatus status_;
  TrainingPlan out_;
  bool expired_ = false;
};

}  // namespace

TrainingPlan plan_training_job(const TrainingWorld& world) {
  return Planner(world).run();
}

}  // namespace yard
