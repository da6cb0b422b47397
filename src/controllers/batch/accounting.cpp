#include "controllers/batch/accounting.h"

#include <algorithm>
#include <map>

#include "controllers/batch/pod_failure_policy.h"

namespace yard {
namespace {

class Accountant {
 public:
  Accountant(const JobFacts& job, const JobStanding& standing, const std::optional<JobEnd>& end)
      : job_(job),
        standing_(standing),
        end_(end),
        named_succeeded_(job.uncounted_succeeded.begin(), job.uncounted_succeeded.end()),
        named_failed_(job.uncounted_failed.begin(), job.uncounted_failed.end()) {}

  Accounts run(const std::vector<PodFacts>& pods) {
    out_.succeeded = job_.succeeded;
    out_.failed = job_.failed;
    out_.completed = job_.completed;
    for (const PodFacts* pod : tracked(pods)) {
      if (out_.release.size() + named_now_ >= kMostUncounted) {
        out_.has_more = true;
        break;
      }
      look_at(*pod);
    }
    settle(job_.uncounted_succeeded, pods, out_.uncounted_succeeded, out_.succeeded);
    settle(job_.uncounted_failed, pods, out_.uncounted_failed, out_.failed);
    if (job_.indexed) out_.succeeded = out_.completed.size();
    return std::move(out_);
  }

 private:
  // Of an Indexed Job in the order of indexes.
  PodRefs tracked(const std::vector<PodFacts>& pods) const {
    PodRefs refs;
    for (const PodFacts& pod : pods)
      if (pod.is_tracked()) refs.push_back(&pod);
    if (job_.indexed)
      std::ranges::stable_sort(refs, {},
                               [](const PodFacts* pod) { return pod->index.value_or(-1); });
    return refs;
  }

  void look_at(const PodFacts& pod) {
    const bool failed = is_considered_failed(pod, job_);
    if (!pod.is_terminal() && !failed && !end_ && !job_.being_deleted) return;
    if (named_succeeded_.contains(pod.uid) || named_failed_.contains(pod.uid)) return release(pod);
    // Sent away because the Job has succeeded: however it ended, it counts for nothing.
    if (end_ && end_->success && end_->is_stored && pod.being_deleted) return release(pod);
    if (pod.phase == PodPhase::Succeeded) return name_success(pod);
    if (failed || (end_ && !end_->success)) return name_failure(pod);
    // The same for what still runs, also under a Job that goes. The reason must be stored first.
    if (job_.being_deleted || (end_ && end_->is_stored)) return release(pod);
    out_.has_more = true;
  }

  void name_success(const PodFacts& pod) {
    if (!job_.indexed) return name(pod, out_.uncounted_succeeded);
    // An index is its own record.
    if (!job_.is_valid_index(pod.index) || job_.completed.contains(*pod.index)) return release(pod);
    out_.completed.insert(*pod.index);
    ++named_now_;
    out_.has_more = true;
  }

  void name_failure(const PodFacts& pod) {
    const bool counts =
        (!job_.indexed || job_.is_valid_index(pod.index)) && failure_verdict(job_, pod).counts();
    if (counts) return name(pod, out_.uncounted_failed);
    release(pod);
  }

  void name(const PodFacts& pod, std::vector<std::string>& uids) {
    uids.push_back(pod.uid);
    ++named_now_;
  }

  void release(const PodFacts& pod) {
    const auto kept = pod.index ? standing_.awaiting_replacement.find(*pod.index)
                                : standing_.awaiting_replacement.end();
    const bool awaits = kept != standing_.awaiting_replacement.end() && kept->second == &pod;
    if (awaits && !end_ && !job_.being_deleted) {
      out_.has_more = true;
      return;
    }
    out_.release.push_back(&pod);
    released_.insert(pod.uid);
  }

  // Named pods whose finalizer is gone (or goes now) are counted; the others stay named, before the
  // new ones.
  void settle(const std::vector<std::string>& named, const std::vector<PodFacts>& pods,
              std::vector<std::string>& uncounted, int& counter) {
    std::set<std::string_view> held;
    for (const PodFacts& pod : pods)
      if (pod.is_tracked() && !released_.contains(pod.uid)) held.insert(pod.uid);
    std::vector<std::string> still;
    for (const std::string& uid : named) {
      if (held.contains(uid)) {
        still.push_back(uid);
      } else {
        ++counter;
      }
    }
    uncounted.insert(uncounted.begin(), still.begin(), still.end());
  }

  const JobFacts& job_;
  const JobStanding& standing_;
  const std::optional<JobEnd>& end_;
  const std::set<std::string_view> named_succeeded_, named_failed_;
  std::set<std::string_view> released_;
  size_t named_now_ = 0;
  Accounts out_;
};

}  // namespace

Accounts accounts(const JobFacts& job, const std::vector<PodFacts>& pods,
                  const JobStanding& standing, const std::optional<JobEnd>& end) {
  return Accountant(job, standing, end).run(pods);
}

}  // namespace yard
