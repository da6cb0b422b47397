#include "cli/wait.h"

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "cli/workload.h"

namespace yard {
namespace {

using Type = WaitGoal::Type;

struct Waiting {
  const NamedObject& root;
  const WaitGoal& goal;
  Time until;
};

bool is_gone(const NamedObject& root, const Json& object) {
  return text_at(object, {"metadata", "uid"}) != root.uid();
}

// True when the goal is reached, false when the time is up.
Result<bool> watch_for(Session& session, const Waiting& waiting, const std::function<Time()>& now) {
  const Located& located = waiting.root.located;
  while (true) {
    const auto object = session.get(resource_path(located.type, located.address));
    if (!object && object.error().reason != Reason::NotFound) return object.error();
    const bool gone = !object || is_gone(waiting.root, *object);
    if (gone && waiting.goal.type == Type::Deleted) return true;
    if (gone)
      return error(Reason::NotFound,
                   fmt::format("{} was deleted while it was waited for", located.shown()));
    if (is_reached(waiting.goal, *object)) return true;
    const Duration left = waiting.until - now();
    if (left <= Duration{}) return false;
    const int64_t seconds =
        std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(left).count());
    bool reached = false;
    TRY(session.watch(
        resource_path(located.type, {located.address.name_space, ""}) +
            query_text({{"watch", "true"},
                        {"timeoutSeconds", std::to_string(seconds)},
                        {"fieldSelector", "metadata.name=" + located.address.name},
                        {"resourceVersion",
                         std::string(text_at(*object, {"metadata", "resourceVersion"}))}}),
        kJsonType, [&](const Json& event) {
          const Json* changed = find(event, "object");
          const bool deleted = text_at(event, {"type"}) == "DELETED";
          reached = deleted ? waiting.goal.type == Type::Deleted
                            : changed != nullptr && is_reached(waiting.goal, *changed);
          return !reached && !deleted;
        }));
    if (reached) return true;
  }
}

}  // namespace

Result<WaitGoal> parse_wait_goal(std::string_view text) {
  const std::string word = lower(text);
  if (word == "delete" || word == "deleted") return WaitGoal{Type::Deleted, "", ""};
  if (word == "finished" || word == "end") return WaitGoal{Type::Finished, "", ""};
  for (const auto& [prefix, type] :
       {std::pair<std::string_view, Type>{"condition=", Type::Condition},
        {"phase=", Type::Phase}}) {
    if (!word.starts_with(prefix)) continue;
    const std::string_view rest = text.substr(prefix.size());
    const size_t equals = rest.find('=');
    const std::string_view name = rest.substr(0, equals);
    if (name.empty()) break;
    return WaitGoal{
        type, std::string(name),
        equals == std::string_view::npos ? "True" : std::string(rest.substr(equals + 1))};
  }
  return error(Reason::BadRequest,
               fmt::format("--for={} means nothing; it is condition=NAME[=VALUE], phase=NAME, "
                           "finished or delete",
                           text));
}

bool is_reached(const WaitGoal& goal, const Json& object) {
  switch (goal.type) {
    case Type::Deleted: return false;
    case Type::Finished: return standing_of(object).is_finished();
    case Type::Phase: return equals_ignore_case(text_at(object, {"status", "phase"}), goal.name);
    case Type::Condition: break;
  }
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (equals_ignore_case(text_at(condition, {"type"}), goal.name) &&
        equals_ignore_case(text_at(condition, {"status"}), goal.value))
      return true;
  }
  return false;
}

int run_wait(Session& session, const WaitRequest& request, const std::function<Time()>& now) {
  Terminal& terminal = session.terminal();
  const auto goal = parse_wait_goal(request.goal);
  if (!goal) return print_failure(terminal, goal.error()), kUsage;
  const auto timeout = parse_go_duration(request.timeout);
  if (!timeout) {
    terminal.err << fmt::format("error: --timeout={} is no length of time, as 30s and 2h are\n",
                                printable(request.timeout));
    return kUsage;
  }
  const auto types = discover(session);
  if (!types) return print_failure(terminal, types.error());
  const auto root = find_object(session, *types, request.words, request.name_space);
  if (!root) {
    const bool was_to_go = goal->type == Type::Deleted && root.error().reason == Reason::NotFound;
    return was_to_go ? static_cast<int>(kOk) : print_failure(terminal, root.error());
  }
  const auto reached = watch_for(session, {*root, *goal, now() + *timeout}, now);
  if (!reached) return print_failure(terminal, reached.error());
  if (!*reached) {
    terminal.err << fmt::format(
        "error: timed out waiting for the condition on {}; `trainyard why {}/{}` says what it "
        "waits for\n",
        root->located.shown(), root->located.type.plural, root->located.address.name);
    return kFailed;
  }
  terminal.out << root->located.shown()
               << (goal->type == Type::Deleted ? " deleted\n" : " condition met\n");
  return kOk;
}

}  // namespace yard
