#include "apiserver/scale.h"

#include <fmt/format.h>

#include "api/crd/json_path.h"
#include "api/schema/decode.h"
#include "api/tables/cells.h"
#include "apiserver/status.h"
#include "base/strings.h"
#include "json/patch.h"

namespace yard {
namespace {

const Json* value_at(const Json& object, std::string_view path) {
  const Json* value = &object;
  for (const std::string& step : simple_path_steps(path)) {
    value = find(*value, step);
    if (value == nullptr) return nullptr;
  }
  return value;
}

void set_at(Json& object, std::string_view path, Json value) {
  const std::vector<std::string> steps = simple_path_steps(path);
  JsonObject* parent = &object.get_object();
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    parent = &object_at(*parent, steps[i]);
  (*parent)[steps.back()] = std::move(value);
}

Result<void> check_scale(const WriteContext& context, const Json& scale) {
  const std::string_view name = text_at(scale, {"metadata", "name"});
  if (!name.empty() && name != context.name) return wrong_name_error(name, context.name);
  const int64_t replicas = int_at(scale, {"spec", "replicas"});
  if (replicas < 0) {
    return invalid_object("autoscaling", "Scale", context.name,
                          {invalid(FieldPath("spec.replicas"), Json(replicas),
                                   "must be greater than or equal to 0")});
  }
  return {};
}

Result<void> conform_scale(Json& scale) {
  const Schema* schema = builtin_schemas().find("autoscaling.v1.Scale");
  check(schema != nullptr, "the schema of Scale is built in");
  auto findings = conform(scale, *schema, "Scale");
  if (!findings)
    return error(Reason::BadRequest, "Scale in version \"v1\" cannot be handled as a Scale: " +
                                         findings.error().message);
  return {};
}

// The object with what the Scale may change: its replicas, built on the revision the Scale names.
Result<Change> plan_scaled(const WriteContext& context, const ObjectPtr& live, Json object,
                           const Json& scale) {
  TRY(check_scale(context, scale));
  const std::string_view uid = text_at(scale, {"metadata", "uid"}),
                         revision = text_at(scale, {"metadata", "resourceVersion"});
  JsonObject& metadata = object_at(object.get_object(), "metadata");
  if (!uid.empty()) metadata["uid"] = uid;
  if (!revision.empty()) metadata["resourceVersion"] = revision;
  set_at(object, context.kind->scale->spec_replicas, Json(int_at(scale, {"spec", "replicas"})));
  return plan_update_tree(context, live, object);
}

}  // namespace

Result<Json> scale_of(const Kind& kind, const Json& object) {
  check(kind.scale.has_value(), "a kind with the scale subresource has its paths");
  const Json* replicas = value_at(object, kind.scale->spec_replicas);
  if (replicas == nullptr || !replicas->is_int64()) {
    return error(Reason::InternalError,
                 fmt::format("Internal error occurred: the spec replicas field {} does not exist",
                             quoted(kind.scale->spec_replicas)));
  }
  JsonObject metadata;
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = find_path(object, {"metadata", member})) metadata[member] = *value;
  }
  const Json* current = value_at(object, kind.scale->status_replicas);
  JsonObject status{
      {"replicas", current != nullptr && current->is_int64() ? current->get_int64() : 0}};
  if (!kind.scale->label_selector.empty()) {
    const Json* selector = value_at(object, kind.scale->label_selector);
    if (selector != nullptr && selector->is_string() && !selector->get_string().empty())
      status["selector"] = *selector;
    // Built-in kinds have the selector itself there, not its text.
    if (selector != nullptr && selector->is_object())
      status["selector"] = label_selector_text(selector);
  }
  return Json(JsonObject{{"kind", "Scale"},
                         {"apiVersion", "autoscaling/v1"},
                         {"metadata", std::move(metadata)},
                         {"spec", JsonObject{{"replicas", *replicas}}},
                         {"status", std::move(status)}});
}

Json scale_table(const Json& scale, std::string_view version, Time now) {
  const std::string api_version = fmt::format("meta.k8s.io/{}", version);
  JsonArray columns;
  for (const char* name : {"Name", "Desired", "Available", "Age"}) {
    const std::string_view label(name);
    columns.push_back(JsonObject{{"name", label},
                                 {"type", label == "Name" || label == "Age" ? "string" : "integer"},
                                 {"format", ""},
                                 {"description", ""},
                                 {"priority", 0}});
  }
  const std::optional<Time> made = parse_rfc3339(text_at(scale, {"metadata", "creationTimestamp"}));
  JsonArray cells{text_at(scale, {"metadata", "name"}), int_at(scale, {"spec", "replicas"}),
                  int_at(scale, {"status", "replicas"}),
                  made ? human_duration(now - *made) : "<unknown>"};
  JsonObject metadata{{"resourceVersion", text_at(scale, {"metadata", "resourceVersion"})}};
  JsonObject shown{{"kind", "PartialObjectMetadata"},
                   {"apiVersion", api_version},
                   {"metadata", scale.at("metadata")}};
  return Json(JsonObject{
      {"kind", "Table"},
      {"apiVersion", api_version},
      {"metadata", std::move(metadata)},
      {"columnDefinitions", std::move(columns)},
      {"rows", JsonArray{JsonObject{{"cells", std::move(cells)}, {"object", std::move(shown)}}}}});
}

Result<Change> plan_scale_update(const WriteContext& context, const ObjectPtr& live,
                                 const RequestBody& body) {
  DecodedBody decoded = TRY(decode_body(body, "Scale", false));
  TRY(conform_scale(decoded.tree));
  if (live == nullptr) return not_found_error(*context.kind, context.name);
  return plan_scaled(context, live, tree_as_shown(*context.kind, *live), decoded.tree);
}

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// A conflict in the words of the Scale that was sent.
Error as_of_scale(Error failure, const Kind& kind) {
  if (failure.reason != Reason::Conflict) return failure;
  const std::string version = " using " + kind.api_version();
  replace_all(failure.message, version, " using autoscaling/v1");
  replace_all(failure.message, kind.scale->spec_replicas, ".spec.replicas");
  for (Cause& cause : failure.details.causes) {
    replace_all(cause.message, version, " using autoscaling/v1");
    if (cause.field == kind.scale->spec_replicas) cause.field = ".spec.replicas";
  }
  return failure;
}

// An applied Scale owns the replicas of the object it scales, and says so there.
Result<Change> plan_scale_apply(const WriteContext& context, const ObjectPtr& live,
                                const RequestBody& body) {
  DecodedBody decoded = TRY(decode_body({"application/yaml", body.bytes}, "Scale", false));
  const std::string_view api_version = text_at(decoded.tree, {"apiVersion"}),
                         kind_name = text_at(decoded.tree, {"kind"});
  if (api_version != "autoscaling/v1" || kind_name != "Scale") {
    return error(Reason::BadRequest,
                 fmt::format("invalid object type: {}, Kind={}", api_version, kind_name));
  }
  TRY(conform_scale(decoded.tree));
  TRY(check_scale(context, decoded.tree));
  const Kind& kind = *context.kind;
  JsonObject metadata{{"name", context.name}};
  if (!context.ns.empty()) metadata["namespace"] = context.ns;
  for (const char* member : {"uid", "resourceVersion"}) {
    if (const Json* value = find_path(decoded.tree, {"metadata", member}))
      metadata[member] = *value;
  }
  Json config = JsonObject{
      {"apiVersion", kind.api_version()}, {"kind", kind.kind}, {"metadata", std::move(metadata)}};
  if (const Json* replicas = find_path(decoded.tree, {"spec", "replicas"}))
    set_at(config, kind.scale->spec_replicas, *replicas);
  auto planned = plan_patch(context, live, PatchType::Apply, {body.content_type, to_text(config)});
  if (!planned) return as_of_scale(planned.error(), kind);
  return planned;
}

}  // namespace

Result<Change> plan_scale_patch(const WriteContext& context, const ObjectPtr& live, PatchType type,
                                const RequestBody& body) {
  if (live == nullptr) return not_found_error(*context.kind, context.name);
  if (type == PatchType::Apply) return plan_scale_apply(context, live, body);
  // A Scale has no lists: a strategic merge of it is a merge.
  if (type != PatchType::JsonPatch && type != PatchType::MergePatch && context.kind->custom) {
    return error(Reason::UnsupportedMediaType,
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json-patch+json, application/merge-patch+json, "
                 "application/apply-patch+yaml");
  }
  auto patch = parse_json(body.bytes);
  if (!patch) return error(Reason::BadRequest, "error decoding patch: " + patch.error().message);
  Json object = tree_as_shown(*context.kind, *live);
  Json scale = TRY(scale_of(*context.kind, object));
  if (type == PatchType::JsonPatch) {
    TRY(apply_json_patch(scale, patch->value));
  } else {
    TRY(apply_merge_patch(scale, patch->value));
  }
  if (!scale.is_object()) return error(Reason::BadRequest, "the patched Scale is no object");
  TRY(conform_scale(scale));
  return plan_scaled(context, live, std::move(object), scale);
}

}  // namespace yard
