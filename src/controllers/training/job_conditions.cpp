#include "controllers/training/job_conditions.h"

#include <algorithm>

namespace yard {
namespace {

const Json* entry_of(const JsonArray& conditions, std::string_view type) {
  for (const Json& condition : conditions)
    if (text_at(condition, {"type"}) == type) return &condition;
  return nullptr;
}

bool holds(const JsonArray& conditions, std::string_view type) {
  const Json* entry = entry_of(conditions, type);
  return entry != nullptr && text_at(*entry, {"status"}) == "True";
}

void remove(JsonArray& conditions, std::string_view type) {
  for (auto at = conditions.begin(); at != conditions.end();)
    at = text_at(*at, {"type"}) == type ? conditions.erase(at) : at + 1;
}

// Its reason, message and times stay as they were.
void turn_false(JsonArray& conditions, std::string_view type) {
  for (Json& condition : conditions)
    if (text_at(condition, {"type"}) == type) condition.get_object()["status"] = "False";
}

}  // namespace

bool set_state(JsonArray& conditions, const JobState& state, Time now) {
  if (holds(conditions, "Failed") || holds(conditions, "Succeeded")) return false;
  const std::string_view status = state.is_true ? "True" : "False";
  const Json* before = entry_of(conditions, state.type);
  std::string since = rfc3339(now);
  if (before != nullptr && text_at(*before, {"status"}) == status) {
    if (text_at(*before, {"reason"}) == state.reason) return false;
    since = text_at(*before, {"lastTransitionTime"}, since);
  }
  JsonObject next{{"type", state.type},
                  {"status", status},
                  {"reason", state.reason},
                  {"message", state.message},
                  {"lastUpdateTime", rfc3339(now)},
                  {"lastTransitionTime", since}};
  remove(conditions, state.type);
  if (state.type == "Restarting") remove(conditions, "Running");
  if (state.type == "Running") remove(conditions, "Restarting");
  if (state.type == "Failed" || state.type == "Succeeded") {
    turn_false(conditions, "Running");
    remove(conditions, "Restarting");
  }
  conditions.push_back(std::move(next));
  return true;
}

}  // namespace yard
