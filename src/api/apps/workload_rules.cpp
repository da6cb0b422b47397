#include "api/apps/workload_rules.h"

#include <cctype>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/int_or_percent.h"
#include "api/meta/names.h"
#include "api/selectors.h"

namespace yard {
namespace {

const Json& none() {
  static const Json kNone = JsonObject();
  return kNone;
}

const Json& spec_of(const Json& object) {
  const Json* spec = find(object, "spec");
  return spec != nullptr ? *spec : none();
}

// A member as upstream's messages show it: in the form of its program.
JsonObject strategy_shown(const Json& strategy) {
  const Json* rolling = find(strategy, "rollingUpdate");
  JsonObject shown;
  for (const auto& member : members_of(rolling)) {
    std::string name(member.key());
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    shown[name] = member.value();
  }
  return {{"Type", text_at(strategy, {"type"})},
          {"RollingUpdate", rolling != nullptr ? Json(std::move(shown)) : Json()}};
}

JsonObject selector_shown(const Json& selector) {
  JsonObject out;
  for (const char* member : {"matchLabels", "matchExpressions"}) {
    if (const Json* value = find(selector, member)) out[member] = *value;
  }
  return out;
}

struct Workload {
  const char* kind;           // as messages name it
  const char* selector_word;  // "empty selector is invalid for …"
};

bool is_empty(const Json& selector) {
  return array_at(selector, "matchExpressions").empty() &&
         members_at(selector, "matchLabels").empty();
}

FieldErrors validate_selector(const Json* selector, const Workload& workload) {
  FieldErrors errors;
  const FieldPath path("spec.selector");
  if (selector == nullptr) {
    errors.push_back(required(path));
    return errors;
  }
  append_errors(errors, validate_label_selector(selector, path));
  if (is_empty(*selector))
    errors.push_back(invalid(
        path, *selector, fmt::format("empty selector is invalid for {}", workload.selector_word)));
  return errors;
}

// No selector selects nothing, an empty one everything.
void check_template_labels(FieldErrors& errors, const Json& spec, const Json* selector) {
  const Json* labels = find_path(spec, {"template", "metadata", "labels"});
  const Result<LabelSelector> parsed = selector != nullptr ? LabelSelector::from_json(*selector)
                                                           : Result<LabelSelector>(LabelSelector());
  const Json shown = labels != nullptr ? *labels : Json();
  if (selector == nullptr || (parsed && !parsed->matches_labels(shown)))
    errors.push_back(invalid(FieldPath("spec.template.metadata.labels"), shown,
                             "`selector` does not match template `labels`"));
}

void check_pods(FieldErrors& errors, const Json& spec, const Workload& workload) {
  const FieldPath path("spec.template");
  const Json* pod_template = find(spec, "template");
  append_errors(errors,
                validate_pod_template(pod_template != nullptr ? *pod_template : none(), path));
  const std::string_view policy = text_at(spec, {"template", "spec", "restartPolicy"}, "Always");
  if (policy != "Always")
    errors.push_back(
        not_supported(path.child("spec").child("restartPolicy"), Json(policy), {"Always"}));
  if (find_path(spec, {"template", "spec", "activeDeadlineSeconds"}) != nullptr)
    errors.push_back(
        forbidden(path.child("spec").child("activeDeadlineSeconds"),
                  fmt::format("activeDeadlineSeconds in {} is not Supported", workload.kind)));
}

// Selector and template. A selector that cannot be read says nothing about labels.
void check_selected_pods(FieldErrors& errors, const Json& spec, const Workload& workload) {
  const Json* selector = find(spec, "selector");
  append_errors(errors, validate_selector(selector, workload));
  if (selector != nullptr && (!LabelSelector::from_json(*selector) ||
                              !validate_label_selector(selector, FieldPath()).empty())) {
    errors.push_back(invalid(FieldPath("spec.selector"), Json(selector_shown(*selector)),
                             "invalid label selector"));
    return;
  }
  check_template_labels(errors, spec, selector);
  check_pods(errors, spec, workload);
}

void check_deployment_strategy(FieldErrors& errors, const Json& spec) {
  const FieldPath path("spec.strategy");
  const Json* given = find(spec, "strategy");
  const Json& strategy = given != nullptr ? *given : none();
  const Json* rolling = find(strategy, "rollingUpdate");
  const std::string_view type = text_at(strategy, {"type"});
  const FieldPath rolling_path = path.child("rollingUpdate");
  if (type == "Recreate") {
    if (rolling != nullptr)
      errors.push_back(
          forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(
        not_supported(path, Json(strategy_shown(strategy)), {"Recreate", "RollingUpdate"}));
  } else if (rolling != nullptr) {
    const Json *most_away = find(*rolling, "maxUnavailable"), *surge = find(*rolling, "maxSurge");
    check_int_or_percent(errors, rolling_path.child("maxUnavailable"), most_away);
    check_int_or_percent(errors, rolling_path.child("maxSurge"), surge);
    if (errors.empty() && !is_some(most_away) && !is_some(surge))
      errors.push_back(invalid(rolling_path.child("maxUnavailable"),
                               most_away != nullptr ? *most_away : Json(0),
                               "may not be 0 when `maxSurge` is 0"));
    check_not_above_all(errors, rolling_path.child("maxUnavailable"), most_away);
  }
}

void check_daemon_strategy(FieldErrors& errors, const Json& spec) {
  const FieldPath path("spec.updateStrategy");
  const Json* given = find(spec, "updateStrategy");
  const Json& strategy = given != nullptr ? *given : none();
  const std::string_view type = text_at(strategy, {"type"});
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") {
    errors.push_back(
        not_supported(path, Json(strategy_shown(strategy)), {"RollingUpdate", "OnDelete"}));
    return;
  }
  const FieldPath rolling = path.child("rollingUpdate");
  const Json *most_away = find_path(strategy, {"rollingUpdate", "maxUnavailable"}),
             *surge = find_path(strategy, {"rollingUpdate", "maxSurge"});
  check_int_or_percent(errors, rolling.child("maxUnavailable"), most_away);
  check_int_or_percent(errors, rolling.child("maxSurge"), surge);
  if (is_some(most_away) && is_some(surge))
    errors.push_back(invalid(rolling.child("maxSurge"), *surge,
                             "may not be set when maxUnavailable is non-zero"));
  if (!is_some(most_away) && !is_some(surge))
    errors.push_back(required(rolling.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  check_not_above_all(errors, rolling.child("maxUnavailable"), most_away);
  check_not_above_all(errors, rolling.child("maxSurge"), surge);
}

void check_stateful_strategy(FieldErrors& errors, const Json& spec) {
  const FieldPath path("spec.updateStrategy");
  const Json* given = find(spec, "updateStrategy");
  const Json& strategy = given != nullptr ? *given : none();
  const std::string_view type = text_at(strategy, {"type"});
  const Json* rolling = find(strategy, "rollingUpdate");
  if (type == "OnDelete") {
    if (rolling == nullptr) return;
    const Json* partition = find(*rolling, "partition");
    const Json* most_away = find(*rolling, "maxUnavailable");
    errors.push_back(
        invalid(path.child("rollingUpdate"),
                Json(JsonObject{{"Partition", partition != nullptr ? *partition : Json(0)},
                                {"MaxUnavailable", most_away != nullptr ? *most_away : Json()}}),
                "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(
        invalid(path, Json(strategy_shown(strategy)), "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (rolling != nullptr) {
    check_not_negative(errors, *rolling, "partition", path.child("rollingUpdate"));
  }
}

}  // namespace

FieldErrors validate_deployment(const Json& object) {
  FieldErrors errors;
  const Json& spec = spec_of(object);
  const FieldPath path("spec");
  check_not_negative(errors, spec, "replicas", path);
  check_selected_pods(errors, spec, {"ReplicaSet", "deployment"});  // as upstream says it
  FieldErrors of_strategy;
  check_deployment_strategy(of_strategy, spec);
  append_errors(errors, std::move(of_strategy));
  check_not_negative(errors, spec, "minReadySeconds", path);
  check_not_negative(errors, spec, "revisionHistoryLimit", path);
  check_not_negative(errors, spec, "progressDeadlineSeconds", path);
  const Json* deadline = find(spec, "progressDeadlineSeconds");
  if (deadline != nullptr && int_of(*deadline) <= int_at(spec, {"minReadySeconds"}))
    errors.push_back(invalid(path.child("progressDeadlineSeconds"), *deadline,
                             "must be greater than minReadySeconds"));
  return errors;
}

FieldErrors validate_replica_set(const Json& object) {
  FieldErrors errors;
  const Json& spec = spec_of(object);
  check_not_negative(errors, spec, "replicas", FieldPath("spec"));
  check_not_negative(errors, spec, "minReadySeconds", FieldPath("spec"));
  check_selected_pods(errors, spec, {"ReplicaSet", "deployment"});  // as upstream says it
  return errors;
}

FieldErrors validate_stateful_set(const Json& object) {
  FieldErrors errors;
  const Json& spec = spec_of(object);
  const FieldPath path("spec");
  if (name_of(object).find('.') != std::string_view::npos)
    errors.push_back(
        invalid(FieldPath("metadata.name"), Json(name_of(object)), "must not contain dots"));
  const std::string_view order = text_at(spec, {"podManagementPolicy"});
  if (order != "OrderedReady" && order != "Parallel")
    errors.push_back(invalid(path.child("podManagementPolicy"), Json(order),
                             "must be 'OrderedReady' or 'Parallel'"));
  check_stateful_strategy(errors, spec);
  if (const Json* retention = find(spec, "persistentVolumeClaimRetentionPolicy")) {
    for (const char* when : {"whenDeleted", "whenScaled"})
      check_supported(errors, *retention, when, path.child("persistentVolumeClaimRetentionPolicy"),
                      {"Retain", "Delete"});
  }
  check_not_negative(errors, spec, "replicas", path);
  check_not_negative(errors, spec, "minReadySeconds", path);
  if (const Json* ordinals = find(spec, "ordinals"))
    check_not_negative(errors, *ordinals, "start", path.child("ordinals"));
  const std::string_view service = text_at(spec, {"serviceName"});
  if (!service.empty())
    add_problems(errors, path.child("serviceName"), service, dns1123_label_problems(service));
  check_selected_pods(errors, spec, {"StatefulSet", "statefulset"});
  return errors;
}

FieldErrors validate_daemon_set(const Json& object) {
  FieldErrors errors;
  const Json& spec = spec_of(object);
  const FieldPath path("spec");
  const Json* selector = find(spec, "selector");
  append_errors(errors, validate_label_selector(selector, path.child("selector")));
  check_template_labels(errors, spec, selector);
  if (selector != nullptr && is_empty(*selector))
    errors.push_back(
        invalid(path.child("selector"), *selector, "empty selector is invalid for daemonset"));
  check_pods(errors, spec, {"DaemonSet", "daemonset"});
  check_not_negative(errors, spec, "minReadySeconds", path);
  check_daemon_strategy(errors, spec);
  check_not_negative(errors, spec, "revisionHistoryLimit", path);
  return errors;
}

FieldErrors validate_controller_revision(const Json& object) {
  FieldErrors errors;
  check_not_negative(errors, object, "revision", FieldPath());
  if (find(object, "data") == nullptr)
    errors.push_back(required(FieldPath("data"), "data is mandatory"));
  return errors;
}

FieldErrors validate_controller_revision_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("data"), find(object, "data"), find(live, "data"));
  return errors;
}

// A StatefulSet keeps all but a few members.
FieldErrors validate_stateful_set_update(const Json& object, const Json& live) {
  FieldErrors errors;
  Json next(map_at(object, {"spec"})), before(map_at(live, {"spec"}));
  for (Json* spec : {&next, &before}) {
    for (const char* key :
         {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
          "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})
      spec->get_object().erase(key);
  }
  if (!equal(next, before))
    errors.push_back(forbidden(
        FieldPath("spec"),
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  return errors;
}

}  // namespace yard
