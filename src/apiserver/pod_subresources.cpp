// The pod's own verbs: binding and eviction.

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "apiserver/change.h"
#include "apiserver/status.h"
#include "base/strings.h"

namespace yard {
namespace {

Result<Json> read_as(const RequestBody& body, const char* schema_name, const char* kind) {
  DecodedBody decoded = TRY(decode_body(body, kind, false));
  const Schema* schema = builtin_schemas().find(schema_name);
  check(schema != nullptr, "the schema of a pod's subresource is built in");
  auto findings = conform(decoded.tree, *schema, kind);
  if (!findings)
    return error(Reason::BadRequest,
                 fmt::format("{} cannot be handled: {}", kind, findings.error().message));
  return std::move(decoded.tree);
}

Result<void> check_name(const WriteContext& context, const Json& body) {
  const std::string_view name = text_at(body, {"metadata", "name"});
  if (name.empty() || name == context.name) return {};
  return wrong_name_error(name, context.name);
}

void set_scheduled(JsonObject& status, Time now) {
  JsonObject scheduled{{"type", "PodScheduled"},
                       {"status", "True"},
                       {"lastProbeTime", nullptr},
                       {"lastTransitionTime", rfc3339(now)}};
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
  for (Json& condition : status["conditions"].get_array()) {
    if (text_at(condition, {"type"}) != "PodScheduled") continue;
    condition = std::move(scheduled);
    return;
  }
  status["conditions"].get_array().push_back(std::move(scheduled));
}

}  // namespace

Result<Change> plan_binding(const WriteContext& context, const ObjectPtr& live,
                            const RequestBody& body) {
  return plan_binding_tree(context, live, TRY(read_as(body, "core.v1.Binding", "Binding")));
}

Result<Change> plan_binding_tree(const WriteContext& context, const ObjectPtr& live,
                                 const Json& binding) {
  const Kind& kind = *context.kind;
  TRY(check_name(context, binding));
  if (live == nullptr) return not_found_error(kind, context.name);
  const std::string_view target_kind = text_at(binding, {"target", "kind"}),
                         node = text_at(binding, {"target", "name"});
  FieldErrors errors;
  if (!target_kind.empty() && target_kind != "Node")
    errors.push_back(
        not_supported(FieldPath("target.kind"), Json(target_kind), {"Node", "<empty>"}));
  if (node.empty()) errors.push_back(required(FieldPath("target.name")));
  if (!errors.empty()) return invalid_object("", "Binding", context.name, errors);

  // Its node reads it next, unless it is one of many.
  JsonArena arena;
  auto block = context.is_read_soon ? std::make_shared<JsonBlock>() : nullptr;
  const JsonMemory memory = block != nullptr ? block->memory() : arena.memory();
  Json pod = context.live_tree ? Json(**context.live_tree, memory) : live->tree(memory);
  const auto refuse = [&](std::string why) {
    Error out = conflict_error(kind, context.name, why);
    out.message = fmt::format("Operation cannot be fulfilled on pods/binding {}: {}",
                              quoted(context.name), why);
    out.details.kind = "pods/binding";
    return out;
  };
  const std::string_view uid = text_at(binding, {"metadata", "uid"});
  if (!uid.empty() && uid != live->uid())
    return refuse(fmt::format(
        "Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, live->uid()));
  if (live->is_being_deleted())
    return refuse(
        fmt::format("pod {} is being deleted, cannot be assigned to a host", context.name));
  const std::string_view bound_to = text_at(pod, {"spec", "nodeName"});
  if (!bound_to.empty())
    return refuse(
        fmt::format("pod {} is already assigned to node {}", context.name, quoted(bound_to)));
  if (const Json* gates = find_path(pod, {"spec", "schedulingGates"});
      gates != nullptr && !gates->as_array().empty()) {
    return refuse(fmt::format("pod {} has non-empty .spec.schedulingGates", context.name));
  }

  JsonObject& object = pod.get_object();
  object_at(object, "spec")["nodeName"] = node;
  for (const char* member : {"annotations", "labels"}) {
    const Json* added = find_path(binding, {"metadata", member});
    if (added == nullptr || !added->is_object()) continue;
    JsonObject& target = object_at(object_at(object, "metadata"), member);
    for (const auto& entry : added->get_object())
      target[entry.key()] = entry.value();
  }
  set_scheduled(object_at(object, "status"), context.now);
  Change out;
  out.type = Change::Type::Store;
  out.expected = live->revision();
  out.status = 201;
  out.answer = success_status(201);
  if (!context.options.dry_run) {
    out.object = encode_object(*context.stored, pod);
    if (block != nullptr) block->tree = std::move(pod);
    out.tree = std::move(block);
  }
  return out;
}

Result<Change> plan_eviction(const WriteContext& context, const ObjectPtr& live,
                             const RequestBody& body) {
  const Json eviction = TRY(read_as(body, "policy.v1.Eviction", "Eviction"));
  TRY(check_name(context, eviction));
  const Json* given = find(eviction, "deleteOptions");
  RequestBody options_body;
  if (given != nullptr) options_body = {"application/json", to_text(*given)};
  DeleteOptions options = TRY(parse_delete_options(Query(), options_body));
  options.evicted = true;
  options.dry_run = options.dry_run || context.options.dry_run;
  Change out = TRY(plan_delete(context, live, options));
  out.status = 201;
  out.answer = success_status(201);
  return out;
}

}  // namespace yard
