#include "api/core/pod_update.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "api/checks.h"

namespace yard {
namespace {

constexpr const char* kAnythingElse =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

constexpr const char* kDebuggers = "ephemeralContainers";

bool keeps_containers(FieldErrors& errors, const Json& spec, const Json& live) {
  for (const char* list : {"containers", "initContainers"}) {
    if (array_at(spec, list).size() == array_at(live, list).size()) continue;
    errors.push_back(
        forbidden(FieldPath("spec").child(list), "pod updates may not add or remove containers"));
  }
  return errors.empty();
}

void check_deadline(FieldErrors& errors, const Json& spec, const Json& live) {
  const FieldPath path("spec.activeDeadlineSeconds");
  const Json* now = find(spec, "activeDeadlineSeconds");
  const Json* before = find(live, "activeDeadlineSeconds");
  if (!now) {
    if (before) {
      errors.push_back(
          invalid(path, Json(), "must not update from a positive integer to nil value"));
    }
  } else if (before && int_of(*before) < int_of(*now)) {
    errors.push_back(invalid(path, *now, "must be less than or equal to previous value"));
  }
}

// A toleration is the same one whatever its seconds.
bool is_same_toleration(const Json& left, const Json& right) {
  for (const char* key : {"key", "operator", "effect", "value"}) {
    if (text_at(left, {key}) != text_at(right, {key})) return false;
  }
  return true;
}

void check_tolerations(FieldErrors& errors, const Json& spec, const Json& live) {
  const JsonArray& now = array_at(spec, "tolerations");
  const bool all_kept = std::ranges::all_of(array_at(live, "tolerations"), [&](const Json& old) {
    return std::ranges::any_of(
        now, [&](const Json& toleration) { return is_same_toleration(toleration, old); });
  });
  if (all_kept) return;
  errors.push_back(forbidden(FieldPath("spec.tolerations"),
                             "existing toleration can not be modified except its "
                             "tolerationSeconds"));
}

void check_gates(FieldErrors& errors, const Json& spec, const Json& live) {
  const JsonArray& before = array_at(live, "schedulingGates");
  const JsonArray& now = array_at(spec, "schedulingGates");
  for (size_t i = 0; i < now.size(); ++i) {
    const std::string_view name = text_at(now[i], {"name"});
    const bool known = std::ranges::any_of(
        before, [&](const Json& gate) { return text_at(gate, {"name"}) == name; });
    if (known) continue;
    errors.push_back(forbidden(
        FieldPath("spec.schedulingGates").index(i).child("name"),
        fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name)));
  }
}

// True when `now` holds all of `before` first and then perhaps more.
bool begins_with(const JsonArray& now, const JsonArray& before) {
  return now.size() >= before.size() &&
         std::equal(before.begin(), before.end(), now.begin(),
                    [](const Json& left, const Json& right) { return equal(left, right); });
}

void check_narrower_selector(FieldErrors& errors, const Json& spec, const Json& live) {
  const JsonObject& now = members_at(spec, "nodeSelector");
  for (const auto& [key, value] : members_at(live, "nodeSelector")) {
    if (same(now.if_contains(key), &value)) continue;
    const Json* shown = find(spec, "nodeSelector");
    errors.push_back(invalid(FieldPath("spec.nodeSelector"), shown ? *shown : Json(),
                             "only additions to spec.nodeSelector are allowed (no mutations or "
                             "deletions)"));
    return;
  }
}

void check_narrower_affinity(FieldErrors& errors, const Json& spec, const Json& live) {
  const FieldPath path(
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
      "nodeSelectorTerms");
  const auto required_terms = [](const Json& from) {
    return find_path(
        from, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  };
  const Json* before = required_terms(live);
  if (!before) return;
  const Json* now = required_terms(spec);
  const JsonArray& old_terms = array_at(*before, "nodeSelectorTerms");
  const JsonArray none;
  const JsonArray& terms = now ? array_at(*now, "nodeSelectorTerms") : none;
  if (terms.size() != old_terms.size()) {
    errors.push_back(invalid(path, Json(terms),
                             "no additions/deletions to non-empty NodeSelectorTerms list are "
                             "allowed"));
    return;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    for (const char* list : {"matchExpressions", "matchFields"}) {
      if (begins_with(array_at(terms[i], list), array_at(old_terms[i], list))) continue;
      errors.push_back(invalid(path.index(i), terms[i],
                               "only additions are allowed (no mutations or deletions)"));
    }
  }
}

void put_back(JsonObject& spec, const Json& live, const char* key) {
  if (const Json* value = find(live, key)) {
    spec[key] = *value;
  } else {
    spec.erase(key);
  }
}

void put_back_node_affinity(JsonObject& spec, const Json& live) {
  const Json* before = find_path(live, {"affinity", "nodeAffinity"});
  JsonObject& affinity = object_at(spec, "affinity");
  if (before)
    affinity["nodeAffinity"] = *before;
  else
    affinity.erase("nodeAffinity");
  if (affinity.empty() && !find(live, "affinity")) spec.erase("affinity");
}

void put_back_images(JsonObject& spec, const Json& live, const char* list) {
  const JsonArray& old = array_at(live, list);
  Json* containers = spec.if_contains(list);
  if (!containers || !containers->is_array()) return;
  JsonArray& now = containers->get_array();
  for (size_t i = 0; i < now.size() && i < old.size(); ++i) {
    if (JsonObject* container = now[i].if_object()) put_back(*container, old[i], "image");
  }
}

// The new spec with every part that may change set back to what it was.
Json with_changeable_parts_of(const Json& spec, const Json& live, bool gated) {
  Json copy = spec;
  JsonObject* changed = copy.if_object();
  if (!changed) return copy;
  put_back_images(*changed, live, "containers");
  put_back_images(*changed, live, "initContainers");
  for (const char* key : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) {
    put_back(*changed, live, key);
  }
  if (gated) {
    put_back(*changed, live, "nodeSelector");
    put_back_node_affinity(*changed, live);
  }
  if (int_at(live, {"terminationGracePeriodSeconds"}) < 0 &&
      int_at(spec, {"terminationGracePeriodSeconds"}) == 1) {
    put_back(*changed, live, "terminationGracePeriodSeconds");
  }
  return copy;
}

const Json& member_or_empty(const Json& object, const char* key) {
  static const Json kNone = JsonObject();
  const Json* member = find(object, key);
  return member ? *member : kNone;
}

}  // namespace

FieldErrors validate_pod_update(const Json& pod, const Json& live) {
  const Json& spec = member_or_empty(pod, "spec");
  const Json& before = member_or_empty(live, "spec");
  FieldErrors errors;
  if (equal(spec, before) || !keeps_containers(errors, spec, before)) return errors;
  const bool gated = !array_at(before, "schedulingGates").empty();
  check_deadline(errors, spec, before);
  check_gates(errors, spec, before);
  check_tolerations(errors, spec, before);
  if (gated) {
    check_narrower_selector(errors, spec, before);
    check_narrower_affinity(errors, spec, before);
  }
  if (!equal(with_changeable_parts_of(spec, before, gated), before)) {
    errors.push_back(forbidden(FieldPath("spec"), kAnythingElse));
  }
  return errors;
}

namespace {

// Under these policies an ended container stays ended.
bool stays_ended(const Json& status, std::string_view restart_policy) {
  const Json* ended = find_path(status, {"state", "terminated"});
  if (!ended || restart_policy == "Always") return false;
  return restart_policy != "OnFailure" || int_at(*ended, {"exitCode"}) == 0;
}

void check_states(FieldErrors& errors, const Json& status, const Json& live,
                  std::string_view restart_policy) {
  const JsonArray& before = array_at(live, "containerStatuses");
  const JsonArray& now = array_at(status, "containerStatuses");
  for (size_t i = 0; i < before.size(); ++i) {
    if (!stays_ended(before[i], restart_policy)) continue;
    for (const Json& next : now) {
      if (text_at(next, {"name"}) != text_at(before[i], {"name"})) continue;
      if (find_path(next, {"state", "terminated"})) continue;
      errors.push_back(forbidden(FieldPath("status.containerStatuses").index(i).child("state"),
                                 "may not be transitioned to non-terminated state"));
    }
  }
}

}  // namespace

FieldErrors validate_pod_status_update(const Json& pod, const Json& live) {
  FieldErrors errors;
  const Json& status = member_or_empty(pod, "status");
  const Json& before = member_or_empty(live, "status");
  // A writer that leaves the class out does not mean to change it.
  if (find(before, "qosClass") && find(status, "qosClass")) {
    check_immutable(errors, status, before, "qosClass", FieldPath("status"));
  }
  check_states(errors, status, before, text_at(live, {"spec", "restartPolicy"}));
  return errors;
}

FieldErrors validate_ephemeral_containers(const Json& pod, const Json& live) {
  FieldErrors errors;
  const FieldPath path = FieldPath("spec").child(kDebuggers);
  static const Json kNone = JsonObject();
  const Json *spec = find(pod, "spec"), *before = find(live, "spec");
  for (const Json& old : array_at(before ? *before : kNone, kDebuggers)) {
    const std::string_view name = text_at(old, {"name"});
    const JsonArray& now = array_at(spec ? *spec : kNone, kDebuggers);
    const auto kept = std::ranges::find_if(
        now, [&](const Json& each) { return text_at(each, {"name"}) == name; });
    if (kept == now.end()) {
      errors.push_back(forbidden(
          path, fmt::format("existing ephemeral containers \"{}\" may not be removed\n", name)));
    } else if (!equal(*kept, old)) {
      errors.push_back(forbidden(
          path, fmt::format("existing ephemeral containers \"{}\" may not be changed\n", name)));
    }
  }
  return errors;
}

}  // namespace yard
