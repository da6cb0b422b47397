#pragma once
// The conditions of a training job: their order is part of the contract, the last one is what
// people see as its state (kubeflow-jobs 3.10).

#include <string>
#include <string_view>

#include "base/time.h"
#include "json/json.h"

namespace yard {

struct JobState {
  std::string_view type;  // Running
  bool is_true = true;
  std::string reason, message;
};

// Puts a state at the end of the list, as upstream does, but for what has ended: nothing changes
// after Succeeded or Failed, and neither Restarting nor Suspended stays True beside them. Answers
// whether the list changed.
bool set_state(JsonArray& conditions, const JobState& state, Time now);

}  // namespace yard
