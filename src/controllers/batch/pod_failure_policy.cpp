#include "controllers/batch/pod_failure_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"

namespace yard {
namespace {

using Action = FailureVerdict::Action;

Action action_of(const Json& rule) {
  const std::string_view text = text_at(rule, {"action"});
  if (text == "FailJob") return Action::FailJob;
  if (text == "FailIndex") return Action::FailIndex;
  return text == "Ignore" ? Action::Ignore : Action::Count;
}

// The ended container a rule about exit codes speaks of. Success matches nothing, not even NotIn.
const PodFacts::Exit* matching_exit(const Json& on_exit_codes, const PodFacts& pod) {
  const std::string_view only = text_at(on_exit_codes, {"containerName"});
  const bool wants_listed = text_at(on_exit_codes, {"operator"}) == "In";
  const JsonArray& values = list_at(on_exit_codes, {"values"});
  for (const PodFacts::Exit& exit : pod.exits) {
    if (exit.code == 0 || (!only.empty() && only != exit.container)) continue;
    const bool listed = std::ranges::any_of(
        values, [&](const Json& value) { return equal(value, Json(exit.code)); });
    if (listed == wants_listed) return &exit;
  }
  return nullptr;
}

const PodFacts::Condition* matching_condition(const JsonArray& patterns, const PodFacts& pod) {
  for (const PodFacts::Condition& condition : pod.conditions) {
    const bool matches = std::ranges::any_of(patterns, [&](const Json& pattern) {
      return text_at(pattern, {"type"}) == condition.type &&
             text_at(pattern, {"status"}, "True") == condition.status;
    });
    if (matches) return &condition;
  }
  return nullptr;
}

}  // namespace

FailureVerdict failure_verdict(const JobFacts& job, const PodFacts& pod) {
  if (job.failure_policy == nullptr) return {};
  const JsonArray& rules = list_at(*job.failure_policy, {"rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    if (const Json* codes = find(rules[i], "onExitCodes")) {
      const PodFacts::Exit* exit = matching_exit(*codes, pod);
      if (exit == nullptr) continue;
      return {
          action_of(rules[i]),
          fmt::format(
              "Container {} for pod {}/{} failed with exit code {} matching {} rule at index {}",
              exit->container, job.ns, pod.name, exit->code, text_at(rules[i], {"action"}), i)};
    }
    if (const PodFacts::Condition* condition =
            matching_condition(list_at(rules[i], {"onPodConditions"}), pod)) {
      return {action_of(rules[i]),
              fmt::format("Pod {}/{} has condition {} matching {} rule at index {}", job.ns,
                          pod.name, condition->type, text_at(rules[i], {"action"}), i)};
    }
  }
  return {};
}

}  // namespace yard
