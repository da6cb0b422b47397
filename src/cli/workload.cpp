#include "cli/workload.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

using State = Standing::State;
constexpr int kMostOwners = 8;  // Experiment → Trial → job → pod is three
constexpr int kMostDepth = 32;  // no pod template lies deeper in an object

const Json* condition_of(const Json& object, std::initializer_list<std::string_view> types) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    const std::string_view type = text_at(condition, {"type"});
    if (text_at(condition, {"status"}) == "True" && std::ranges::find(types, type) != types.end())
      return &condition;
  }
  return nullptr;
}

Standing from_condition(State state, const Json& condition) {
  return {state, std::string(text_at(condition, {"reason"})),
          std::string(text_at(condition, {"message"}))};
}

std::optional<State> state_of_phase(std::string_view phase) {
  if (phase == "Succeeded" || phase == "Completed" || phase == "Complete") return State::Succeeded;
  if (phase == "Failed" || phase == "Error") return State::Failed;
  if (phase == "Running") return State::Running;
  if (phase == "Suspended" || phase == "Paused") return State::Suspended;
  return std::nullopt;
}

bool has_containers(const Json& value, int depth) {
  if (depth > kMostDepth) return false;
  if (const JsonObject* object = value.if_object()) {
    if (const Json* list = find(value, "containers"); list != nullptr && list->is_array())
      return true;
    return std::ranges::any_of(
        *object, [&](const auto& member) { return has_containers(member.value(), depth + 1); });
  }
  const JsonArray* array = value.if_array();
  return array != nullptr && std::ranges::any_of(*array, [&](const Json& item) {
           return has_containers(item, depth + 1);
         });
}

void visit_templates(Json& value, const std::function<void(JsonObject&)>& visit, int depth) {
  if (depth > kMostDepth) return;
  if (JsonObject* object = value.if_object()) {
    const Json* list = find_path(value, {"spec", "containers"});
    if (list != nullptr && list->is_array()) return visit(*object);
    for (auto& member : *object)
      visit_templates(member.value(), visit, depth + 1);
  } else if (JsonArray* array = value.if_array()) {
    for (Json& item : *array)
      visit_templates(item, visit, depth + 1);
  }
}

std::string waiting_or_ended(const Json& status) {
  const std::string_view waiting = text_at(status, {"state", "waiting", "reason"});
  if (!waiting.empty()) return std::string(waiting);
  const Json* ended = find_path(status, {"state", "terminated"});
  if (ended == nullptr) return "";
  const std::string_view reason = text_at(*ended, {"reason"});
  return reason.empty() ? fmt::format("ExitCode:{}", int_at(*ended, {"exitCode"}))
                        : std::string(reason);
}

// 10 after 9: ranks that are numbers are compared as such.
struct RankOrder {
  bool numeric = false;
  int64_t number = 0;
  std::string text;
  auto operator<=>(const RankOrder&) const = default;
};

RankOrder rank_order(const Json& pod, std::string_view root_name) {
  const std::string rank = rank_of(pod, root_name);
  const size_t dash = rank.rfind('-');
  const auto number = parse_int64(dash == std::string::npos ? rank : rank.substr(dash + 1));
  const std::string head = dash == std::string::npos ? "" : rank.substr(0, dash);
  return {!number.has_value() || !head.empty(), number && head.empty() ? *number : 0,
          number && !head.empty() ? fmt::format("{}-{:020}", head, *number) : rank};
}

}  // namespace

Standing standing_of(const Json& object) {
  if (const Json* failed = condition_of(object, {"Failed"}))
    return from_condition(State::Failed, *failed);
  if (const Json* done = condition_of(object, {"Complete", "Succeeded"}))
    return from_condition(State::Succeeded, *done);
  if (const auto state = state_of_phase(text_at(object, {"status", "phase"}))) {
    return {*state, std::string(text_at(object, {"status", "reason"})),
            std::string(text_at(object, {"status", "message"}))};
  }
  if (const Json* suspended = condition_of(object, {"Suspended"}))
    return from_condition(State::Suspended, *suspended);
  if (bool_at(object, {"spec", "suspend"}) || bool_at(object, {"spec", "runPolicy", "suspend"}))
    return {State::Suspended, "", ""};
  if (const Json* running = condition_of(object, {"Running"}))
    return from_condition(State::Running, *running);
  return {int_at(object, {"status", "active"}) > 0 ? State::Running : State::Waiting, "", ""};
}

std::string_view word_for(State state) {
  switch (state) {
    case State::Waiting: return "waiting";
    case State::Running: return "running";
    case State::Suspended: return "suspended";
    case State::Succeeded: return "succeeded";
    case State::Failed: return "failed";
  }
  return "";
}

bool runs_to_an_end(const Json& object) {
  constexpr std::string_view kNever[] = {"CronJob",
                                         "PodTemplate",
                                         "Deployment",
                                         "ReplicaSet",
                                         "StatefulSet",
                                         "DaemonSet",
                                         "ReplicationController",
                                         "CustomResourceDefinition"};
  if (std::ranges::find(kNever, text_at(object, {"kind"})) != std::end(kNever)) return false;
  const Json* spec = find(object, "spec");
  return spec != nullptr && has_containers(*spec, 0);
}

void for_each_pod_template(Json& object, const std::function<void(JsonObject&)>& visit) {
  visit_templates(object, visit, 0);
}

std::string pod_state(const Json& pod) {
  if (is_being_deleted(pod)) return "Terminating";
  std::string out(text_at(pod, {"status", "reason"}));
  if (out.empty()) out = text_at(pod, {"status", "phase"}, "Pending");
  for (const Json& status : list_at(pod, {"status", "initContainerStatuses"})) {
    const std::string word = waiting_or_ended(status);
    if (word.empty() || word == "Completed") continue;
    return word == "PodInitializing" ? out : "Init:" + word;
  }
  for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
    const std::string word = waiting_or_ended(status);
    if (!word.empty() && (word != "Completed" || out == "Succeeded")) out = word;
  }
  return out;
}

std::string rank_of(const Json& pod, std::string_view root_name) {
  constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";
  const std::string_view index = text_at(pod, {"metadata", "annotations", kIndex});
  if (!index.empty()) return std::string(index);
  const std::string_view type =
      text_at(pod, {"metadata", "labels", "training.kubeflow.org/replica-type"});
  const std::string_view number =
      text_at(pod, {"metadata", "labels", "training.kubeflow.org/replica-index"});
  if (!type.empty() && !number.empty()) return fmt::format("{}-{}", lower(type), number);
  const std::string_view name = name_of(pod);
  if (name.size() > root_name.size() + 1 && name.starts_with(root_name) &&
      name[root_name.size()] == '-')
    return std::string(name.substr(root_name.size() + 1));
  return std::string(name);
}

Result<NamedObject> find_object(Session& session, const std::vector<ResourceType>& types,
                                const std::vector<std::string>& words,
                                const std::string& name_space) {
  const bool is_bare = words.size() == 1 && words[0].find('/') == std::string::npos;
  std::vector<ResourceType> candidates;
  std::string name;
  if (is_bare) {
    name = words[0];
    for (const ResourceType& type : types) {
      if (type.is_namespaced && type.can("get") && type.group == "" && type.plural == "pods")
        candidates.insert(candidates.begin(), type);
      if (type.group == "batch" && type.plural == "jobs") candidates.push_back(type);
    }
    for (const ResourceType& type : types) {
      const bool is_builtin =
          type.group.find('.') == std::string::npos || type.group.ends_with(".k8s.io");
      if (type.is_namespaced && type.can("get") && !is_builtin) candidates.push_back(type);
    }
  } else {
    const std::vector<ResourceSelection> selected = TRY(selections(words));
    if (selected.size() != 1 || selected[0].names.size() != 1)
      return error(Reason::BadRequest, "name one object: TYPE/NAME, TYPE NAME, or a pod's NAME");
    name = selected[0].names[0];
    candidates = TRY(types_named(types, selected[0].types));
  }
  for (const ResourceType& type : candidates) {
    const ObjectAddress address{type.is_namespaced ? name_space : "", name};
    auto object = session.get(resource_path(type, address));
    if (object) return NamedObject{{type, address}, std::move(*object)};
    if (object.error().reason != Reason::NotFound || candidates.size() == 1)
      return std::move(object).error();
  }
  return error(Reason::NotFound,
               fmt::format("nothing is called {} in namespace {}; `trainyard get all -n {}` shows "
                           "what is there",
                           quoted(name), quoted(name_space), name_space));
}

bool OwnerChain::leads_to(const Json& object, std::string_view root_uid) {
  return leads_to(object, root_uid, kMostOwners);
}

bool OwnerChain::leads_to(const Json& object, std::string_view root_uid, int steps) {
  const std::string_view uid = text_at(object, {"metadata", "uid"});
  if (uid == root_uid) return true;
  if (steps == 0) return false;
  const std::string key = std::string(uid) + "/" + std::string(root_uid);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  bool leads = false;
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    if (text_at(owner, {"uid"}) == root_uid) {
      leads = true;
      break;
    }
    const ResourceType* type =
        type_of_kind(types_, text_at(owner, {"apiVersion"}), text_at(owner, {"kind"}));
    if (type == nullptr) continue;
    const std::string ns(text_at(object, {"metadata", "namespace"}));
    const auto found = session_.get(resource_path(
        *type, {type->is_namespaced ? ns : "", std::string(text_at(owner, {"name"}))}));
    if (found && text_at(*found, {"metadata", "uid"}) == text_at(owner, {"uid"}) &&
        leads_to(*found, root_uid, steps - 1)) {
      leads = true;
      break;
    }
  }
  known_[key] = leads;
  return leads;
}

void sort_by_rank(std::vector<Json>& pods, std::string_view root_name) {
  std::ranges::stable_sort(pods, {}, [&](const Json& pod) { return rank_order(pod, root_name); });
}

Result<std::vector<Json>> pods_of(Session& session, const std::vector<ResourceType>& types,
                                  const NamedObject& root) {
  if (root.located.type.kind == "Pod") return std::vector<Json>{root.object};
  const Json list =
      TRY(session.get(fmt::format("/api/v1/namespaces/{}/pods",
                                  root.located.type.is_namespaced ? root.located.address.name_space
                                                                  : root.located.address.name)));
  OwnerChain chain(session, types);
  const std::string uid = root.uid();
  std::vector<Json> out;
  for (const Json& pod : list_at(list, {"items"})) {
    if (chain.leads_to(pod, uid)) out.push_back(pod);
  }
  sort_by_rank(out, root.located.address.name);
  return out;
}

}  // namespace yard
