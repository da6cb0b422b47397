#pragma once
// wait: until an object has a condition, or is gone.

#include <optional>
#include <string>
#include <vector>

#include "cli/requests.h"

namespace yard {

// `condition=Complete`, `condition=Ready=False`, `complete`, `delete`, `phase=Running`.
struct WaitGoal {
  enum class Type { Condition, Phase, Deleted, Finished };
  Type type = Type::Condition;
  std::string name, value;
};
Result<WaitGoal> parse_wait_goal(std::string_view text);
bool is_reached(const WaitGoal& goal, const Json& object);

struct WaitRequest {
  std::vector<std::string> words;
  std::string name_space = "default";
  std::string goal;
  std::string timeout = "30s";
};
int run_wait(Session& session, const WaitRequest& request, const std::function<Time()>& now);

}  // namespace yard
