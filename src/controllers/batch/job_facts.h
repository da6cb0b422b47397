#pragma once
// What the Job controller reads of Jobs and pods, decoded once. Everything else of batch/ works on
// these values.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "client/client.h"
#include "controllers/batch/index_set.h"

namespace yard {

inline const Resource kJobResource{"batch/v1", "Job"};
inline const Resource kPodResource{"v1", "Pod"};
inline constexpr std::string_view kTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kJobController = "kubernetes.io/job-controller";
inline constexpr std::string_view kIndexKey = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr std::string_view kIndexIgnoredFailures =
    "batch.kubernetes.io/job-index-ignored-failure-count";

struct JobCondition {
  std::string type, reason, message;
  friend bool operator==(const JobCondition&, const JobCondition&) = default;
};

struct JobFacts {
  std::shared_ptr<const Json> tree;
  std::string ns, name, uid;
  bool being_deleted = false;

  // spec
  bool indexed = false;
  bool mode_is_known = true;
  int parallelism = 1;
  std::optional<int> completions;
  int backoff_limit = 6;
  std::optional<int> backoff_limit_per_index, max_failed_indexes;
  std::optional<int64_t> active_deadline_seconds;
  bool suspend = false;
  bool replaces_only_failed = false;  // podReplacementPolicy: Failed
  bool restarts_in_place = false;     // the template's restartPolicy is OnFailure
  std::string managed_by;
  const Json* failure_policy = nullptr;  // into `tree`
  const Json* success_policy = nullptr;

  // status
  int succeeded = 0, failed = 0;
  std::optional<Time> start_time;
  std::vector<std::string> uncounted_succeeded, uncounted_failed;  // uids
  IndexSet completed, failed_indexes;
  std::vector<JobCondition> conditions;  // those that are True

  const JobCondition* condition(std::string_view type) const;
  bool is_finished() const {
    return condition("Complete") != nullptr || condition("Failed") != nullptr;
  }
  bool is_ours() const { return managed_by.empty() || managed_by == kJobController; }
  bool is_valid_index(std::optional<int> index) const {
    return index && completions && *index < *completions;
  }
};
JobFacts job_facts(Json tree);

enum class PodPhase { Pending, Running, Succeeded, Failed, Unknown };

struct PodFacts {
  std::string name, uid;
  Revision revision = 0;
  PodPhase phase = PodPhase::Pending;
  bool being_deleted = false;
  bool is_scheduled = false;
  bool is_ready = false;
  Time ready_since{};
  Time created{};
  Time finished{};  // when it ended, as well as can be told (kubernetes-core A6)
  int64_t restarts = 0;
  std::vector<std::string> finalizers;
  std::optional<int> index;
  int index_failures = 0, index_ignored_failures = 0;
  struct Exit {
    std::string container;
    int64_t code = 0;
  };
  std::vector<Exit> exits;  // ended containers: the app's first, then init containers
  struct Condition {
    std::string type, status;
  };
  std::vector<Condition> conditions;

  bool is_tracked() const;
  bool is_terminal() const { return phase == PodPhase::Succeeded || phase == PodPhase::Failed; }
  bool is_active() const { return !is_terminal() && !being_deleted; }
  bool is_terminating() const { return !is_terminal() && being_deleted; }
};
PodFacts pod_facts(const Json& tree, Revision revision);

// Whether the Job counts this pod as a failure already (A4, A11).
bool is_considered_failed(const PodFacts& pod, const JobFacts& job);

}  // namespace yard
