// The one write path: what create, update and the four patches share.

#include <algorithm>

#include <fmt/format.h>

#include "api/core/pod_update.h"
#include "api/fields.h"
#include "api/meta/names.h"
#include "api/schema/decode.h"
#include "api/schema/strategic_merge.h"
#include "apiserver/change.h"
#include "apiserver/status.h"
#include "base/strings.h"
#include "json/patch.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr int kGeneratedSuffix = 5;
constexpr size_t kGeneratedBase = 58;

// Members of metadata that only the server writes.
constexpr std::string_view kServerMetadata[] = {"uid", "creationTimestamp", "deletionTimestamp",
                                                "deletionGracePeriodSeconds", "generation"};

JsonObject& metadata_of(Json& tree) {
  return object_at(tree.get_object(), "metadata");
}

void copy_member(JsonObject& to, const JsonObject& from, std::string_view name) {
  if (const Json* value = from.if_contains(name)) {
    to[name] = *value;
  } else {
    to.erase(name);
  }
}

Result<void> check_type(const Kind& kind, Json& tree) {
  JsonObject& object = tree.get_object();
  const std::string api_version(text_at(tree, {"apiVersion"})), name(text_at(tree, {"kind"}));
  if (kind.custom && (api_version.empty() || name.empty())) {
    const std::string start = to_text(tree).substr(0, 200);
    return error(Reason::BadRequest,
                 fmt::format("the object provided is unrecognized (must be of type {}): Object "
                             "'{}' is missing in '{}'",
                             kind.kind, name.empty() ? "Kind" : "apiVersion", start));
  }
  if (!api_version.empty() && api_version != kind.api_version()) {
    return error(
        Reason::BadRequest,
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    api_version, kind.api_version()));
  }
  if (!name.empty() && name != kind.kind) {
    if (kind.custom) {
      return invalid_object(kind.group, kind.kind, text_at(tree, {"metadata", "name"}),
                            {invalid(FieldPath("kind"), Json(name), "must be " + kind.kind)});
    }
    return error(Reason::BadRequest,
                 fmt::format("{} in version {} cannot be handled as a {}: the kinds differ", name,
                             quoted(kind.version), kind.kind));
  }
  object["apiVersion"] = kind.api_version();
  object["kind"] = kind.kind;
  return {};
}

// Unknown and duplicate fields, as fieldValidation says.
Result<void> report_findings(const WriteContext& context, const DecodeFindings& findings,
                             const std::vector<std::string>& duplicates, bool of_patch,
                             std::vector<std::string>& warnings) {
  if (context.options.validation == FieldValidation::Ignore) return {};
  std::vector<std::string> problems;
  for (const std::string& path : findings.unknown_fields)
    problems.push_back("unknown field " + quoted(path));
  for (const std::string& path : duplicates)
    problems.push_back("duplicate field " + quoted(path));
  if (problems.empty()) return {};
  if (context.options.validation == FieldValidation::Warn) {
    // Every one is a header line: a body of a million unknown fields must not become a million of
    // them.
    constexpr size_t kMostWarnings = 50;
    for (size_t i = 0; i < problems.size() && i < kMostWarnings; ++i)
      warnings.push_back(std::move(problems[i]));
    return {};
  }
  const std::string text = "strict decoding error: " + join(problems, ", ");
  if (of_patch) {
    return invalid_object(
        "", "", "", {Cause{"FieldValueInvalid", "Invalid value: \"patch\": " + text, "patch"}});
  }
  return error(Reason::BadRequest,
               fmt::format("{} in version {} cannot be handled as a {}: {}", context.kind->kind,
                           quoted(context.kind->version), context.kind->kind, text));
}

Result<void> conform_body(const WriteContext& context, Json& tree,
                          const std::vector<std::string>& duplicates,
                          std::vector<std::string>& warnings) {
  const Kind& kind = *context.kind;
  auto findings = conform(tree, *kind.schema, kind.kind);
  if (!findings) {
    return error(Reason::BadRequest,
                 fmt::format("{} in version {} cannot be handled as a {}: {}", kind.kind,
                             quoted(kind.version), kind.kind, findings.error().message));
  }
  return report_findings(context, *findings, duplicates, false, warnings);
}

Result<Json> read_object(const WriteContext& context, const RequestBody& body, JsonMemory memory,
                         std::vector<std::string>& warnings) {
  DecodedBody decoded =
      TRY(decode_body(body, context.kind->kind, context.kind->custom, std::move(memory)));
  TRY(check_type(*context.kind, decoded.tree));
  TRY(conform_body(context, decoded.tree, decoded.duplicate_fields, warnings));
  return std::move(decoded.tree);
}

Result<void> check_namespace(const WriteContext& context, JsonObject& metadata) {
  if (!context.kind->namespaced) {
    metadata.erase("namespace");
    return {};
  }
  const Json* given = metadata.if_contains("namespace");
  const std::string_view ns =
      given != nullptr && given->is_string() ? std::string_view(given->get_string()) : "";
  if (!ns.empty() && ns != context.ns) {
    return error(
        Reason::BadRequest,
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  metadata["namespace"] = context.ns;
  return {};
}

Admission admission(const WriteContext& context, Random& random,
                    std::vector<std::string>& warnings) {
  return Admission{*context.cluster, context.now, random, warnings, context.options.dry_run};
}

FieldWriter writer_of(const WriteContext& context) {
  return FieldWriter{context.options.field_manager, context.kind->api_version(),
                     context.subresource, context.now};
}

// A workload is never refused for its template: its pods will be.
void add_security_warning(const WriteContext& context, const Json& tree,
                          std::vector<std::string>& warnings) {
  const auto space = context.cluster->namespaces.find(context.ns);
  if (space == context.cluster->namespaces.end()) return;
  const SecurityStandard& standard = space->second.security.warn;
  if (standard.level == SecurityLevel::Privileged) return;
  const Json* pod = pod_template_in(context.kind->group, context.kind->kind, tree);
  if (pod == nullptr) return;
  if (const std::string breaches = security_breaches(*pod, standard); !breaches.empty())
    warnings.push_back(security_warning(standard, breaches));
}

void add_object_warnings(const WriteContext& context, const Json& tree,
                         std::vector<std::string>& warnings) {
  add_security_warning(context, tree, warnings);
  if (!context.kind->warnings) return;
  for (std::string& text : context.kind->warnings(tree))
    warnings.push_back(std::move(text));
}

// Everything outside metadata and status: what the generation counts.
bool same_content(const Json& left, const Json& right, bool ignore_status) {
  const auto counts = [&](std::string_view name) {
    return name != "metadata" && name != "apiVersion" && name != "kind" &&
           !(ignore_status && name == "status");
  };
  const JsonObject &a = left.get_object(), &b = right.get_object();
  for (const auto& member : a) {
    if (!counts(member.key())) continue;
    const Json* other = b.if_contains(member.key());
    if (other == nullptr || !equal(member.value(), *other)) return false;
  }
  return std::ranges::all_of(
      b, [&](const auto& member) { return !counts(member.key()) || a.contains(member.key()); });
}

bool has_elements(const Json* list) {
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

// An object marked for deletion goes with its last finalizer; a Namespace also waits for
// spec.finalizers.
bool is_ready_to_go(const Kind& kind, const Json& tree) {
  if (find_path(tree, {"metadata", "deletionTimestamp"}) == nullptr) return false;
  if (int_at(tree, {"metadata", "deletionGracePeriodSeconds"}) > 0) return false;
  if (has_elements(find_path(tree, {"metadata", "finalizers"}))) return false;
  return !(kind.kind == "Namespace" && has_elements(find_path(tree, {"spec", "finalizers"})));
}

Result<void> check_preconditions(const WriteContext& context, const Object& live, const Json& next,
                                 bool is_patch) {
  const Kind& kind = *context.kind;
  const std::string_view uid = text_at(next, {"metadata", "uid"});
  if (!uid.empty() && uid != live.uid() && !is_patch) {
    return conflict_error(
        kind, context.name,
        fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: "
                    "0, AdditionalErrorMsg: "
                    "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    kind.plural, context.name, uid, live.uid()));
  }
  const std::string_view revision = text_at(next, {"metadata", "resourceVersion"});
  if (revision.empty() || revision == "0") {
    if (!kind.allows_unconditional_update && !is_patch) {
      return invalid_object(kind.group, kind.kind, context.name,
                            {invalid(FieldPath("metadata.resourceVersion"), Json(0),
                                     "must be specified for an update")});
    }
    return {};
  }
  const auto number = parse_uint64(revision);
  if (!number) {
    return invalid_object(
        kind.group, kind.kind, context.name,
        {invalid(FieldPath("metadata.resourceVersion"), Json(revision), "must be a number")});
  }
  if (*number != live.revision()) return modified_error(kind, context.name);
  return {};
}

// Lets each endpoint change only its own part: status through /status, everything else through the
// object.
void keep_other_parts(const WriteContext& context, Json& next, const Json& live) {
  JsonObject& object = next.get_object();
  const JsonObject& old = live.get_object();
  if (context.subresource == "status") {
    std::vector<std::string> names;
    for (const auto& member : object)
      names.emplace_back(member.key());
    for (const std::string& name : names) {
      if (name != "metadata" && name != "status" && name != "apiVersion" && name != "kind")
        copy_member(object, old, name);
    }
    for (const auto& member : old) {
      if (member.key() != "status" && !object.contains(member.key()))
        object[member.key()] = member.value();
    }
    if (Json* found = object.if_contains("status")) {  // people read it behind the spec
      Json status = std::move(*found);
      object.stable_erase("status");
      object.emplace("status", std::move(status));
    }
    if (context.kind->custom) {
      Json managed = find_path(next, {"metadata", "managedFields"}) != nullptr
                         ? *find_path(next, {"metadata", "managedFields"})
                         : Json();
      object["metadata"] = old.at("metadata");
      if (!managed.is_null()) metadata_of(next)["managedFields"] = std::move(managed);
    } else {
      copy_member(metadata_of(next), old.at("metadata").get_object(), "ownerReferences");
    }
  } else if (context.subresource == "finalize") {
    Json finalizers = find_path(next, {"spec", "finalizers"}) != nullptr
                          ? *find_path(next, {"spec", "finalizers"})
                          : Json(JsonArray());
    Json metadata = object["metadata"];
    object = old;
    object["metadata"] = std::move(metadata);
    object_at(object, "spec")["finalizers"] = std::move(finalizers);
  } else if (context.subresource == "ephemeralcontainers") {
    const Json* given = find_path(next, {"spec", "ephemeralContainers"});
    Json added = given != nullptr ? *given : Json(JsonArray());
    object = old;
    object_at(object, "spec")["ephemeralContainers"] = std::move(added);
  } else if (context.kind->has_status()) {
    copy_member(object, old, "status");
    if (context.kind->kind == "Namespace")
      copy_member(object_at(object, "spec"), old.at("spec").get_object(), "finalizers");
  }
}

// What an update says that counts: of a status nothing beside it and the metadata.
Json part_written(const WriteContext& context, const Json& tree, JsonMemory memory) {
  if (context.subresource != "status") return Json(tree, std::move(memory));
  JsonObject out(memory);
  for (const char* name : {"kind", "apiVersion", "metadata", "status"}) {
    if (const Json* member = find(tree, name)) out.emplace(name, *member);
  }
  return Json(std::move(out), std::move(memory));
}

Change stored(const WriteContext& context, Json& tree, const Json* live_tree, Revision expected,
              int status, std::vector<std::string> warnings) {
  Change out;
  out.type = Change::Type::Store;
  out.expected = expected;
  out.status = status;
  out.warnings = std::move(warnings);
  if (context.options.dry_run) {
    if (live_tree == nullptr) metadata_of(tree).erase("resourceVersion");
    out.dry_run_tree = on_heap(tree);
  }
  if (context.kind->to_stored) context.kind->to_stored(tree);
  out.object = encode_object(*context.stored, tree);
  return out;
}

void fill_server_metadata(const Kind& kind, const WriteContext& context, Random& random,
                          JsonObject& metadata) {
  metadata["uid"] = random.uuid();
  metadata["creationTimestamp"] = rfc3339(context.now);
  if (kind.tracks_generation) metadata["generation"] = 1;
}

// A status that may come with a create belongs to nobody.
void track_created(const WriteContext& context, Json& tree) {
  Json status;
  if (const Json* given = find(tree, "status"); given != nullptr && context.kind->has_status()) {
    status = *given;
    tree.get_object().erase("status");
  }
  track_update(nullptr, tree, *context.kind->schema, writer_of(context));
  if (!status.is_null()) tree.get_object()["status"] = std::move(status);
}

// A create after decoding. `applied`: server-side apply has set managedFields already.
Result<Change> create_from(const WriteContext& context, Json& tree,
                           std::vector<std::string> warnings, bool applied) {
  const Kind& kind = *context.kind;
  Random random(context.seed);
  // Good until the first function that may add members to `tree`: those move what references point
  // to.
  JsonObject& metadata = metadata_of(tree);
  if (!text_at(tree, {"metadata", "resourceVersion"}).empty() && !applied) {
    return error(Reason::InternalError,
                 "resourceVersion should not be set on objects to be created");
  }
  TRY(check_namespace(context, metadata));
  metadata.erase("resourceVersion");
  metadata.erase("selfLink");
  for (const std::string_view name : kServerMetadata)
    metadata.erase(name);
  if (kind.has_status() && !kind.keeps_status_on_create) tree.get_object().erase("status");

  const std::string prefix(text_at(tree, {"metadata", "generateName"}));
  if (text_at(tree, {"metadata", "name"}).empty() && !prefix.empty()) {
    metadata["name"] = prefix.substr(0, kGeneratedBase) + random.name_suffix(kGeneratedSuffix);
  }
  if (kind.set_defaults) kind.set_defaults(tree);
  if (!applied) track_created(context, tree);
  fill_server_metadata(kind, context, random, metadata_of(tree));
  TRY(check_namespace_accepts(context, text_at(tree, {"metadata", "name"})));
  if (kind.prepare_create) TRY(kind.prepare_create(tree, admission(context, random, warnings)));
  if (kind.has_status() && !kind.custom) object_at(tree.get_object(), "status");
  FieldErrors errors = validate_metadata(tree, kind);
  if (kind.validate) std::ranges::move(kind.validate(tree), std::back_inserter(errors));
  if (!errors.empty()) {
    return invalid_object(kind.group, kind.kind, text_at(tree, {"metadata", "name"}), errors);
  }
  add_object_warnings(context, tree, warnings);
  return stored(context, tree, nullptr, 0, 201, std::move(warnings));
}

// An update or patch after decoding and merging.
Result<Change> update_from(const WriteContext& context, const Object& live, const Json& live_tree,
                           Json& next, std::vector<std::string> warnings, bool is_patch,
                           bool applied) {
  const Kind& kind = *context.kind;
  Random random(context.seed);
  const std::string_view name = text_at(next, {"metadata", "name"});
  if (name != context.name) return wrong_name_error(name, context.name);
  TRY(check_namespace(context, metadata_of(next)));
  TRY(check_preconditions(context, live, next, is_patch));

  const JsonObject& old_metadata = live_tree.at("metadata").get_object();
  const std::string_view uid = text_at(next, {"metadata", "uid"});
  if (!uid.empty() && uid != live.uid()) {
    return invalid_object(kind.group, kind.kind, context.name,
                          {invalid(FieldPath("metadata.uid"), Json(uid), "field is immutable")});
  }
  keep_other_parts(context, next, live_tree);
  JsonObject& metadata = metadata_of(next);
  metadata["name"] = context.name;
  for (const std::string_view member : kServerMetadata)
    copy_member(metadata, old_metadata, member);
  copy_member(metadata, old_metadata, "resourceVersion");
  metadata.erase("selfLink");

  if (kind.set_defaults) kind.set_defaults(next);
  if (!applied) track_update(&live_tree, next, *kind.schema, writer_of(context));
  if (kind.prepare_update && (context.subresource.empty() || context.subresource == "status")) {
    TRY(kind.prepare_update(next, live_tree, admission(context, random, warnings)));
  }
  if (kind.tracks_generation && context.subresource != "status" &&
      !same_content(next, live_tree, kind.has_status())) {
    metadata_of(next)["generation"] = live.generation() + 1;
  }

  FieldErrors errors = validate_metadata_update(next, live_tree);
  if (context.subresource == "status") {
    if (kind.validate_status_update)
      std::ranges::move(kind.validate_status_update(next, live_tree), std::back_inserter(errors));
  } else if (context.subresource == "ephemeralcontainers") {
    std::ranges::move(validate_ephemeral_containers(next, live_tree), std::back_inserter(errors));
    if (kind.validate && errors.empty())
      std::ranges::move(kind.validate(next), std::back_inserter(errors));
  } else if (context.subresource.empty() || context.subresource == "scale") {
    if (kind.validate_update)
      std::ranges::move(kind.validate_update(next, live_tree), std::back_inserter(errors));
    // What changed must be right as well as allowed to change. Custom kinds judge both at once,
    // since they ratchet.
    const bool judged = kind.validate_update &&
                        (kind.custom || !errors.empty() || same_content(next, live_tree, true));
    if (kind.validate && !judged)
      std::ranges::move(kind.validate(next), std::back_inserter(errors));
  }
  if (!errors.empty()) return invalid_object(kind.group, kind.kind, context.name, errors);
  if (context.subresource.empty()) add_object_warnings(context, next, warnings);

  if (is_ready_to_go(kind, next)) {
    Change out;
    out.type = Change::Type::Delete;
    out.expected = live.revision();
    out.warnings = std::move(warnings);
    out.answer = on_heap(next);  // `next` may live in the verb's arena
    return out;
  }
  if (applied) ignore_new_times(live_tree, next);
  if (equal(next, live_tree)) {
    Change out;
    out.type = Change::Type::Nothing;
    out.expected = live.revision();
    out.warnings = std::move(warnings);
    return out;
  }
  return stored(context, next, &live_tree, live.revision(), 200, std::move(warnings));
}

Error rejected_patch(const Error& why, const Json& tree) {
  std::string shown = to_text(tree).substr(0, 1024);
  return invalid_object(
      "", "", "",
      {Cause{"FieldValueInvalid", fmt::format("Invalid value: {}: {}", quoted(shown), why.message),
             "patch"}});
}

// Keys an applied configuration has twice: the last counts, unless fieldValidation is strict.
Result<void> report_repeated_keys(const WriteContext& context, std::string_view text,
                                  std::vector<std::string>& warnings) {
  if (context.options.validation == FieldValidation::Ignore) return {};
  for (const RepeatedKey& repeated : repeated_yaml_keys(text)) {
    warnings.push_back(
        fmt::format("line {}: key {} already set in map", repeated.line, quoted(repeated.key)));
  }
  if (context.options.validation != FieldValidation::Strict || warnings.empty()) return {};
  return error(Reason::BadRequest,
               "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal "
               "errors:\n  " +
                   join(warnings, "\n  "));
}

constexpr std::string_view kUntyped = "failed to create typed patch object";

Result<Change> apply_patch(const WriteContext& context, const ObjectPtr& live,
                           const RequestBody& body) {
  const Kind& kind = *context.kind;
  if (!context.options.field_manager_given) {
    return invalid_object("meta.k8s.io", "PatchOptions", "",
                          {required(FieldPath("fieldManager"), "is required for apply patch")});
  }
  DecodedBody decoded = TRY(decode_body({"application/yaml", body.bytes}, kind.kind, kind.custom));
  std::vector<std::string> warnings;
  if (!decoded.duplicate_fields.empty()) TRY(report_repeated_keys(context, body.bytes, warnings));
  Json config = std::move(decoded.tree);
  const std::string_view api_version = text_at(config, {"apiVersion"}),
                         kind_name = text_at(config, {"kind"});
  if (api_version != kind.api_version() || kind_name != kind.kind) {
    const size_t slash = api_version.find('/');
    const std::string_view group =
        slash == std::string_view::npos ? "" : api_version.substr(0, slash);
    const std::string_view version =
        slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
    return error(Reason::BadRequest,
                 fmt::format("invalid object type: {}/{}, Kind={}", group, version, kind_name));
  }
  if (find_path(config, {"metadata", "managedFields"}) != nullptr) {
    return error(Reason::BadRequest, "metadata.managedFields must be nil");
  }
  const std::string_view name = text_at(config, {"metadata", "name"});
  if (!name.empty() && name != context.name) return wrong_name_error(name, context.name);
  const bool is_named = !name.empty();
  metadata_of(config)["name"] = context.name;
  TRY(check_namespace(context, metadata_of(config)));
  auto findings = conform(config, *kind.schema, kind.kind, EmptyValues::Kept);
  const std::string subject = fmt::format("{} ({}/{}; {}/{}, Kind={})", kUntyped, context.ns,
                                          context.name, kind.group, kind.version, kind.kind);
  if (!findings) return error(Reason::BadRequest, subject + ": " + findings.error().message);
  if (!findings->unknown_fields.empty()) {
    return error(Reason::BadRequest, fmt::format("{}: .{}: field not declared in schema", subject,
                                                 findings->unknown_fields.front()));
  }

  ApplyOptions options{writer_of(context), context.options.force.value_or(false), {}};
  if (context.subresource.empty() && kind.has_status()) options.reset_fields = {"status"};
  if (context.subresource == "status") options.reset_fields = {"spec"};
  if (live == nullptr) {
    if (!context.subresource.empty()) return not_found_error(kind, context.name);
    if (!is_named) return wrong_name_error("", context.name);
    if (!text_at(config, {"metadata", "uid"}).empty()) {
      return conflict_error(
          kind, context.name,
          "uid mismatch: the provided object specified uid, and no existing object was found");
    }
    Json merged = TRY(apply_config(nullptr, config, *kind.schema, options));
    TRY(conform(merged, *kind.schema, kind.kind));
    return create_from(context, merged, std::move(warnings), true);
  }
  const Json live_tree = tree_as_shown(kind, *live);
  auto merged = apply_config(&live_tree, config, *kind.schema, options);
  if (!merged) {
    Error why = std::move(merged).error();
    if (why.reason == Reason::BadRequest && !why.message.starts_with(kUntyped))
      why.message = subject + ": " + why.message;
    return why;
  }
  TRY(conform(*merged, *kind.schema, kind.kind));
  return update_from(context, *live, live_tree, *merged, std::move(warnings), true, true);
}

}  // namespace

Json tree_as_shown(const Kind& kind, const Object& stored_object, JsonMemory memory) {
  Json tree = stored_object.tree(std::move(memory));
  if (kind.from_stored) kind.from_stored(tree);
  return tree;
}

const Json& live_tree(const WriteContext& context, const Object& live, JsonMemory memory,
                      std::optional<Json>& parsed) {
  if (context.live_tree) return **context.live_tree;
  return parsed.emplace(tree_as_shown(*context.kind, live, std::move(memory)));
}

ObjectPtr as_shown(const Kind& kind, const ObjectPtr& stored_object) {
  if (!kind.from_stored || stored_object == nullptr) return stored_object;
  return Object::with_revision(*encode_object(kind, tree_as_shown(kind, *stored_object)),
                               stored_object->revision());
}

ObjectPtr encode_object(const Kind& kind, const Json& tree) {
  return Object::encode(tree,
                        kind.field_values ? kind.field_values(tree) : std::vector<std::string>{},
                        kind.cells ? kind.cells(tree) : std::string());
}

Result<void> check_namespace_accepts(const WriteContext& context, std::string_view name) {
  if (!context.kind->namespaced) return {};
  const auto found = context.cluster->namespaces.find(context.ns);
  if (found == context.cluster->namespaces.end()) return namespace_not_found_error(context.ns);
  if (found->second.terminating)
    return namespace_terminating_error(*context.kind, name, context.ns);
  return {};
}

Result<Change> plan_create(const WriteContext& context, const RequestBody& body) {
  std::vector<std::string> warnings;
  const auto create = [&](Json& tree) -> Result<Change> {
    const std::string_view name = text_at(tree, {"metadata", "name"});
    if (!context.name.empty() && name != context.name) return wrong_name_error(name, context.name);
    return create_from(context, tree, std::move(warnings), false);
  };
  // Whoever schedules a pod reads it as soon as it is there; no other kind is as sure of a reader.
  if (context.kind->kind == "Pod" && !context.kind->to_stored && !context.options.dry_run) {
    auto block = std::make_shared<JsonBlock>();
    block->tree = TRY(read_object(context, body, block->memory(), warnings));
    Change out = TRY(create(block->tree));
    out.tree = std::move(block);
    return out;
  }
  JsonArena arena;
  Json tree = TRY(read_object(context, body, arena.memory(), warnings));
  return create(tree);
}

Result<Change> plan_create_tree(const WriteContext& context, const Json& tree) {
  JsonArena arena;
  Json next(tree, arena.memory());
  return create_from(context, next, {}, false);
}

Result<Change> plan_update(const WriteContext& context, const ObjectPtr& live,
                           const RequestBody& body) {
  JsonArena arena;
  std::vector<std::string> warnings;
  Json tree = TRY(read_object(context, body, arena.memory(), warnings));
  if (live == nullptr) {
    if (!context.kind->creates_on_update || !context.subresource.empty())
      return not_found_error(*context.kind, context.name);
    if (const std::string_view name = text_at(tree, {"metadata", "name"}); name != context.name)
      return wrong_name_error(name, context.name);
    return create_from(context, tree, std::move(warnings), false);
  }
  std::optional<Json> parsed;
  return update_from(context, *live, live_tree(context, *live, arena.memory(), parsed), tree,
                     std::move(warnings), false, false);
}

Result<Change> plan_update_tree(const WriteContext& context, const ObjectPtr& live,
                                const Json& tree) {
  if (live == nullptr) return not_found_error(*context.kind, context.name);
  // A status of something that somebody has read will be read again.
  if (context.live_tree && context.is_read_soon && context.subresource == "status" &&
      !context.kind->to_stored) {
    auto block = std::make_shared<JsonBlock>();
    block->tree = part_written(context, tree, block->memory());
    Change out =
        TRY(update_from(context, *live, **context.live_tree, block->tree, {}, false, false));
    if (out.type == Change::Type::Store) out.tree = std::move(block);
    return out;
  }
  JsonArena arena;
  std::optional<Json> parsed;
  Json next = part_written(context, tree, arena.memory());
  return update_from(context, *live, live_tree(context, *live, arena.memory(), parsed), next, {},
                     false, false);
}

Result<Change> plan_patch(const WriteContext& context, const ObjectPtr& live, PatchType type,
                          const RequestBody& body) {
  const Kind& kind = *context.kind;
  if (type == PatchType::Apply) return apply_patch(context, live, body);
  if (context.options.force) {
    return invalid_object(
        "meta.k8s.io", "PatchOptions", "",
        {forbidden(FieldPath("force"), "may not be specified for non-apply patch")});
  }
  if (live == nullptr) return not_found_error(kind, context.name);
  JsonArena arena;
  auto patch = parse_json(body.bytes, {}, arena.memory());
  if (!patch) return error(Reason::BadRequest, "error decoding patch: " + patch.error().message);
  std::optional<Json> parsed;
  const Json& before = live_tree(context, *live, arena.memory(), parsed);
  Json next(before, arena.memory());
  switch (type) {
    case PatchType::JsonPatch: TRY(apply_json_patch(next, patch->value)); break;
    case PatchType::MergePatch: TRY(apply_merge_patch(next, patch->value)); break;
    default: TRY(apply_strategic_merge_patch(next, patch->value, *kind.schema)); break;
  }
  if (!next.is_object() || find(next, "metadata") == nullptr ||
      !find(next, "metadata")->is_object()) {
    return rejected_patch(error(Reason::Invalid, "the result is not an object with metadata"),
                          next);
  }
  if (text_at(next, {"kind"}) != kind.kind || text_at(next, {"apiVersion"}) != kind.api_version()) {
    return rejected_patch(error(Reason::Invalid, "kind and apiVersion cannot be patched"), next);
  }
  std::vector<std::string> warnings;
  auto findings = conform(next, *kind.schema, kind.kind);
  if (!findings) return rejected_patch(findings.error(), next);
  TRY(report_findings(context, *findings, patch->duplicate_fields, true, warnings));
  return update_from(context, *live, before, next, std::move(warnings), true, false);
}

}  // namespace yard
