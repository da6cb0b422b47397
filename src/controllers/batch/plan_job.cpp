#include "controllers/batch/plan_job.h"

#include <algorithm>

#include "controllers/batch/job_pod.h"
#include "controllers/batch/job_status.h"
#include "controllers/batch/pod_changes.h"

namespace yard {
namespace {

ClientWrite claim_write(const JobFacts& job, const PodClaim& claim) {
  JsonObject metadata{{"uid", claim.uid},
                      {"resourceVersion", std::to_string(claim.revision)},
                      {"ownerReferences", claim.owners},
                      {"finalizers", claim.finalizers}};
  return {ClientWrite::Verb::MergePatch, kPodResource, job.ns, claim.name,
          JsonObject{{"metadata", std::move(metadata)}}};
}

void look_again(Plan& plan, std::optional<Duration> after) {
  if (after) plan.requeue_after = std::min(plan.requeue_after.value_or(*after), *after);
}

// Pods of a Job that has ended keep their finalizer until they are counted.
void end_active_pods(Plan& plan, const JobFacts& job, const JobStanding& standing,
                     StatusFacts& status) {
  for (const PodFacts* pod : standing.active)
    plan.writes.push_back(delete_pod(job, *pod));
  status.terminating += standing.active.size();
  status.active = 0;
  status.ready = 0;
}

void remove_pods(Plan& plan, const JobFacts& job, const PodRefs& pods, StatusFacts& status) {
  for (const PodFacts* pod : pods) {
    if (pod->is_tracked()) plan.writes.push_back(release_pod(job, *pod, false));
    plan.writes.push_back(delete_pod(job, *pod));
    --status.active;
    ++status.terminating;
    status.ready -= pod->is_ready;
  }
}

// Makes and removes pods, then sees whether that was all.
void change_pods(Plan& plan, const JobWorld& world, const JobStanding& standing,
                 const BackoffRecord& backoff, StatusFacts& status) {
  const JobFacts& job = world.job;
  if (!job.being_deleted) {
    const PodChanges changes = pod_changes(job, standing, backoff, world.most_creates, world.now);
    remove_pods(plan, job, changes.remove, status);
    for (const PodChanges::NewPod& pod : changes.create)
      plan.writes.push_back(create_pod(job, pod.index, pod.replaced));
    status.active += changes.create.size();
    look_again(plan, changes.wait);
    // Asked only for pods that are due: those in back-off have a time of their own.
    if (changes.creates_are_held) look_again(plan, world.create_again);
  }
  status.end = completion(job, standing.succeeded, status.active);
  if (status.end && job.completions && !job.indexed && standing.succeeded > *job.completions) {
    plan.events.push_back({EventNote::Type::Warning, "TooManySucceededPods",
                           "Too many succeeded pods running after completion count reached"});
  }
  if (status.end || job.being_deleted || !turns_suspended(job, job.suspend)) return;
  status.suspended = job.suspend;
  plan.events.push_back(job.suspend
                            ? EventNote{EventNote::Type::Normal, "Suspended", "Job suspended"}
                            : EventNote{EventNote::Type::Normal, "Resumed", "Job resumed"});
}

void add_final_event(Plan& plan, const JobEnd& end) {
  if (end.success) {
    plan.events.push_back({EventNote::Type::Normal, "Completed", "Job completed"});
  } else {
    plan.events.push_back({EventNote::Type::Warning, end.reason, end.message});
  }
}

// The clock of a Job starts with its first look while not suspended, and again with every resume.
std::optional<Time> start_time(const JobWorld& world) {
  const JobFacts& job = world.job;
  if (job.suspend || job.condition("SuccessCriteriaMet") != nullptr ||
      job.condition("FailureTarget") != nullptr)
    return job.start_time;
  const bool resumes = turns_suspended(job, false);
  return resumes || !job.start_time ? world.now : job.start_time;
}

}  // namespace

JobPlan plan_job(const JobWorld& world) {
  const JobFacts& job = world.job;
  JobPlan out{{}, world.backoff};
  Plan& plan = out.plan;
  if (job.is_finished() || !job.is_ours()) return out;
  if (!job.mode_is_known) {
    plan.events.push_back({EventNote::Type::Warning, "UnknownCompletionMode",
                           "Skipped Job sync because completion mode is unknown"});
    return out;
  }
  if (!world.claims.empty()) {
    for (const PodClaim& claim : world.claims)
      plan.writes.push_back(claim_write(job, claim));
    plan.requeue_after = Duration::zero();
    return out;
  }

  const JobStanding standing = job_standing(job, world.pods);
  out.backoff = next_backoff(world.backoff, standing.new_succeeded, standing.new_failed);
  StatusFacts status;
  status.active = standing.active.size();
  status.ready = static_cast<size_t>(standing.ready);
  status.terminating = standing.terminating.size();
  status.failed_indexes = standing.failed_indexes;
  status.start_time = start_time(world);
  status.end = job_end(job, standing, status.start_time, world.now);
  if (status.end) {
    end_active_pods(plan, job, standing, status);
  } else {
    change_pods(plan, world, standing, out.backoff, status);
  }
  if (!status.end) look_again(plan, remaining_deadline(job, status.start_time, world.now));

  status.accounts = accounts(job, world.pods, standing, status.end);
  for (const PodFacts* pod : status.accounts.release)
    plan.writes.push_back(release_pod(job, *pod, true));
  status.is_over =
      status.end && status.accounts.is_settled() && status.active == 0 && status.terminating == 0;
  if (status.is_over) add_final_event(plan, *status.end);

  Json next = with_status(job, status, world.now);
  if (!equal(next, *job.tree))
    plan.last = ClientWrite{ClientWrite::Verb::UpdateStatus, kJobResource, job.ns, job.name,
                            std::move(next)};
  // What is named now is released, and what is released now is counted, without waiting for
  // anybody.
  if (plan.last && !status.is_over)
    look_again(plan, status.accounts.is_settled() ? std::nullopt : std::optional(Duration::zero()));
  return out;
}

}  // namespace yard
