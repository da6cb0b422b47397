// DELETE: preconditions, propagation, grace and finalizers (api-machinery 2.4).

#include <algorithm>

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "apiserver/change.h"
#include "apiserver/status.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kCustomResourceCleanup = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::string_view kJobOrphanWarning =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set "
    "propagationPolicy=Orphan to suppress this warning";

Result<std::optional<DeletePropagation>> propagation_of(std::string_view text) {
  if (text.empty()) return std::optional<DeletePropagation>{};
  if (text == "Background") return std::optional{DeletePropagation::Background};
  if (text == "Foreground") return std::optional{DeletePropagation::Foreground};
  if (text == "Orphan") return std::optional{DeletePropagation::Orphan};
  return invalid_object("meta.k8s.io", "DeleteOptions", "",
                        {not_supported(FieldPath("propagationPolicy"), Json(text),
                                       {"Foreground", "Background", "Orphan", "nil"})});
}

Result<void> check_preconditions(const Kind& kind, const Object& live,
                                 const DeleteOptions& options) {
  const auto refuse = [&](std::string why) {
    Error out = conflict_error(kind, live.name(), why);
    // Upstream names the Kind, not the resource, in this one.
    out.details.kind = kind.kind;
    out.message = fmt::format("Operation cannot be fulfilled on {} {}: {}", kind.kind,
                              quoted(live.name()), why);
    return out;
  };
  if (options.uid && *options.uid != live.uid()) {
    return refuse(
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                    "object might have been "
                    "deleted and then recreated",
                    *options.uid, live.uid()));
  }
  if (options.resource_version && *options.resource_version != std::to_string(live.revision())) {
    return refuse(
        fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                    "ResourceVersion in record ({}). The "
                    "object might have been modified",
                    *options.resource_version, live.revision()));
  }
  return {};
}

bool contains(const JsonArray& list, std::string_view text) {
  return std::ranges::any_of(
      list, [&](const Json& item) { return item.is_string() && item.get_string() == text; });
}

void remove(JsonArray& list, std::string_view text) {
  for (auto at = list.begin(); at != list.end();) {
    at = at->is_string() && at->get_string() == text ? list.erase(at) : at + 1;
  }
}

// Puts the garbage collector's finalizers as the policy says; answers whether the list changed.
void set_policy_finalizers(const Kind& kind, const DeleteOptions& options, JsonArray& finalizers,
                           std::vector<std::string>& warnings) {
  if (kind.kind == "Event") return;
  std::optional<DeletePropagation> policy = options.propagation;
  if (!policy && options.orphan_dependents) {
    policy = *options.orphan_dependents ? DeletePropagation::Orphan : DeletePropagation::Background;
  }
  if (!policy) {
    if (contains(finalizers, kOrphanFinalizer) || contains(finalizers, kForegroundFinalizer))
      return;
    policy = kind.default_propagation;
    if (kind.kind == "Job" && policy == DeletePropagation::Orphan)
      warnings.emplace_back(kJobOrphanWarning);
  }
  const bool orphan = *policy == DeletePropagation::Orphan,
             foreground = *policy == DeletePropagation::Foreground;
  if (!orphan) remove(finalizers, kOrphanFinalizer);
  if (!foreground) remove(finalizers, kForegroundFinalizer);
  if (orphan && !contains(finalizers, kOrphanFinalizer)) finalizers.emplace_back(kOrphanFinalizer);
  if (foreground && !contains(finalizers, kForegroundFinalizer))
    finalizers.emplace_back(kForegroundFinalizer);
}

// Job policies read this: the pod did not fail, it was sent away.
void add_disruption_condition(Json& pod, Time now) {
  JsonObject& status = object_at(pod.get_object(), "status");
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
  status["conditions"].get_array().push_back(JsonObject{{"type", "DisruptionTarget"},
                                                        {"status", "True"},
                                                        {"reason", "EvictionByEvictionAPI"},
                                                        {"message", "Eviction API: evicting"},
                                                        {"lastProbeTime", nullptr},
                                                        {"lastTransitionTime", rfc3339(now)}});
}

// How long a pod may take to end; 0 for everything else and for pods that run nowhere.
int64_t grace_seconds(const Kind& kind, const Json& tree, const DeleteOptions& options) {
  if (!kind.deletes_gracefully) return 0;
  const std::string_view phase = text_at(tree, {"status", "phase"});
  if (text_at(tree, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed")
    return 0;
  const int64_t grace = options.grace_period_seconds.value_or(
      int_at(tree, {"spec", "terminationGracePeriodSeconds"}, 30));
  return grace < 0 ? 1 : grace;
}

}  // namespace

Result<DeleteOptions> parse_delete_options(const Query& query, const RequestBody& body) {
  DeleteOptions out;
  Json tree = JsonObject();
  if (!body.bytes.empty()) {
    DecodedBody decoded = TRY(decode_body(body, "DeleteOptions", false));
    tree = std::move(decoded.tree);
    const Schema* schema = builtin_schemas().find("meta.v1.DeleteOptions");
    if (schema != nullptr) {
      auto findings = conform(tree, *schema, "DeleteOptions");
      if (!findings)
        return error(Reason::BadRequest,
                     "DeleteOptions in version \"v1\" cannot be handled as a DeleteOptions: " +
                         findings.error().message);
    }
  } else {
    JsonObject& object = tree.get_object();
    if (!query.get("propagationPolicy").empty())
      object["propagationPolicy"] = query.get("propagationPolicy");
    if (query.has("orphanDependents")) object["orphanDependents"] = query.flag("orphanDependents");
    if (!query.get("gracePeriodSeconds").empty()) {
      const auto seconds = parse_int64(query.get("gracePeriodSeconds"));
      if (!seconds)
        return error(Reason::BadRequest, "strconv.ParseInt: parsing " +
                                             quoted(query.get("gracePeriodSeconds")) +
                                             ": invalid syntax");
      object["gracePeriodSeconds"] = *seconds;
    }
  }
  out.propagation = TRY(propagation_of(text_at(tree, {"propagationPolicy"})));
  if (const Json* orphan = find(tree, "orphanDependents"); orphan != nullptr && orphan->is_bool())
    out.orphan_dependents = orphan->get_bool();
  if (out.propagation && out.orphan_dependents) {
    return invalid_object(
        "meta.k8s.io", "DeleteOptions", "",
        {invalid(FieldPath("propagationPolicy"), Json(text_at(tree, {"propagationPolicy"})),
                 "orphanDependents and deletionPropagation cannot be both set")});
  }
  if (find(tree, "gracePeriodSeconds") != nullptr)
    out.grace_period_seconds = int_at(tree, {"gracePeriodSeconds"});
  if (const std::string_view uid = text_at(tree, {"preconditions", "uid"}); !uid.empty())
    out.uid = uid;
  if (const std::string_view revision = text_at(tree, {"preconditions", "resourceVersion"});
      !revision.empty())
    out.resource_version = revision;
  std::vector<std::string> dry_run;
  for (const std::string_view value : query.all("dryRun"))
    dry_run.emplace_back(value);
  if (const Json* list = find(tree, "dryRun"); list != nullptr && list->is_array()) {
    for (const Json& value : list->get_array()) {
      if (value.is_string()) dry_run.emplace_back(value.get_string());
    }
  }
  for (const std::string& value : dry_run) {
    if (value != "All") {
      return invalid_object("meta.k8s.io", "DeleteOptions", "",
                            {not_supported(FieldPath("dryRun"), Json(value), {"All"})});
    }
    out.dry_run = true;
  }
  return out;
}

Result<Change> plan_delete(const WriteContext& context, const ObjectPtr& live,
                           const DeleteOptions& options) {
  const Kind& kind = *context.kind;
  if (live == nullptr) return not_found_error(kind, context.name);
  TRY(check_preconditions(kind, *live, options));
  const std::string_view name = live->name();
  if (kind.kind == "Namespace" &&
      (name == "default" || name == "kube-system" || name == "kube-public")) {
    return forbidden_error(kind, name, "this namespace may not be deleted");
  }

  Change out;
  out.expected = live->revision();
  JsonArena arena;
  std::optional<Json> parsed;
  const Json& shown = live_tree(context, *live, arena.memory(), parsed);
  JsonArray finalizers;
  if (const Json* list = find_path(shown, {"metadata", "finalizers"});
      list != nullptr && list->is_array())
    finalizers = list->get_array();
  const JsonArray before = finalizers;
  set_policy_finalizers(kind, options, finalizers, out.warnings);
  // A definition outlives its instances: whoever deletes them takes this off again.
  if (kind.kind == "CustomResourceDefinition" && !live->is_being_deleted() &&
      !contains(finalizers, kCustomResourceCleanup)) {
    finalizers.emplace_back(kCustomResourceCleanup);
  }
  const bool waits_for_namespace = kind.kind == "Namespace" &&
                                   find_path(shown, {"spec", "finalizers"}) != nullptr &&
                                   !find_path(shown, {"spec", "finalizers"})->as_array().empty();
  int64_t grace = grace_seconds(kind, shown, options);

  if (live->is_being_deleted()) {
    const int64_t current = int_at(shown, {"metadata", "deletionGracePeriodSeconds"});
    const bool shorter = grace < current;
    if (finalizers == before && !shorter &&
        (current > 0 || !finalizers.empty() || waits_for_namespace)) {
      out.type = Change::Type::Nothing;
      return out;
    }
    if (!shorter) grace = current;
  }
  if (grace == 0 && finalizers.empty() && !waits_for_namespace) {
    out.type = Change::Type::Delete;
    if (!kind.returns_deleted_object) out.answer = deleted_status(kind, name, live->uid());
    if (options.dry_run) out.dry_run_tree = on_heap(shown);
    return out;
  }

  Json tree(shown, arena.memory());
  JsonObject& metadata = tree.get_object()["metadata"].get_object();
  if (!live->is_being_deleted() && live->generation() > 0)
    metadata["generation"] = live->generation() + 1;
  if (!live->is_being_deleted() ||
      int_at(tree, {"metadata", "deletionGracePeriodSeconds"}) != grace) {
    metadata["deletionTimestamp"] = rfc3339(context.now + std::chrono::seconds(grace));
  }
  metadata["deletionGracePeriodSeconds"] = grace;
  if (finalizers.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(finalizers);
  }
  if (options.evicted) add_disruption_condition(tree, context.now);
  if (kind.kind == "Namespace") object_at(tree.get_object(), "status")["phase"] = "Terminating";
  out.type = Change::Type::Store;
  out.status = options.orphan_dependents == false ? 202 : 200;
  if (options.dry_run) {
    out.dry_run_tree = on_heap(tree);
    return out;
  }
  if (kind.to_stored) kind.to_stored(tree);
  out.object = encode_object(*context.stored, tree);
  return out;
}

}  // namespace yard
