#pragma once
// When a container that has ended starts again (kubernetes-core C7). Pure: everything follows from
// its runs.

#include <optional>
#include <string_view>
#include <vector>

#include "node/pod_runtime.h"

namespace yard {

enum class RestartPolicy { Always, OnFailure, Never };
RestartPolicy restart_policy_of(std::string_view text);

// What follows the newest run, which has ended.
struct Restart {
  bool again = false;
  Time due{};          // not before
  Duration backoff{};  // 0: at once
  // A clock that was set back since holds nothing up.
  bool is_waiting(Time now) const { return now < due && now + kClockSlack >= due - backoff; }
  static constexpr Duration kClockSlack = std::chrono::seconds(5);
};
Restart next_restart(RestartPolicy policy, const std::vector<const ContainerRun*>& runs);

}  // namespace yard
