#include "node/restart.h"

namespace yard {
namespace {

using std::chrono::seconds;
constexpr Duration kFirstBackoff = seconds(10), kMostBackoff = seconds(300);
constexpr Duration kForgivenAfter = seconds(600);  // a run this long starts the count anew

}  // namespace

RestartPolicy restart_policy_of(std::string_view text) {
  if (text == "Never") return RestartPolicy::Never;
  return text == "OnFailure" ? RestartPolicy::OnFailure : RestartPolicy::Always;
}

Restart next_restart(RestartPolicy policy, const std::vector<const ContainerRun*>& runs) {
  if (runs.empty() || !runs.back()->exit || policy == RestartPolicy::Never) return {};
  if (policy == RestartPolicy::OnFailure && runs.back()->exit->code == 0) return {};
  // The first restart is immediate, the next waits 10 s, then twice as long each time.
  Duration wait{}, next = kFirstBackoff;
  for (size_t i = 0; i < runs.size(); ++i) {
    const bool first =
        i == 0 || !runs[i]->exit || runs[i]->exit->at - runs[i]->started > kForgivenAfter;
    wait = first ? Duration{} : next;
    next = first ? kFirstBackoff : std::min(kMostBackoff, next * 2);
  }
  return {true, runs.back()->exit->at + wait, wait};
}

}  // namespace yard
