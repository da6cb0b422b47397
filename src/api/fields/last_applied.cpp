#include "api/fields/last_applied.h"

#include "api/fields/changes.h"
#include "api/fields/fields_v1.h"
#include "api/fields/object_fields.h"

namespace yard {
namespace {

constexpr std::string_view kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
constexpr size_t kMaxAnnotationsSize =
    256 * 1024;  // of all annotations together, as validation has it

size_t size_of(const JsonObject& annotations) {
  size_t size = 0;
  for (const auto& annotation : annotations) {
    size += annotation.key().size();
    if (annotation.value().is_string()) size += annotation.value().get_string().size();
  }
  return size;
}

// The set's texts must not outlive the tree parsed here.
FieldNodes kept(FieldArena& arena, FieldNodes set) {
  const size_t level = arena.level();
  for (FieldNode node : set) {
    node.text = arena.keep(node.text);
    node.children = kept(arena, node.children);
    arena.push(node);
  }
  return arena.take_sorted(level);
}

}  // namespace

FieldNodes last_applied_fields(FieldArena& arena, const Json& live, const Schema& schema,
                               std::string_view api_version) {
  const std::string_view text = text_at(live, {"metadata", "annotations", kAnnotation});
  const Result<ParsedJson> parsed = parse_json(text);
  if (!parsed || !parsed->value.is_object()) return {};
  const Json& applied = parsed->value;
  if (text_at(applied, {"apiVersion"}) != api_version) return {};
  const FieldNodes differing =
      changed_fields(arena, &applied, &live, schema, ZeroValues::AsWritten);
  return kept(arena, subtract(arena, fields_of(arena, applied, schema), differing));
}

void rewrite_last_applied(Json& object, const Json& config) {
  Json* found = find_path(object, {"metadata", "annotations"});
  if (found == nullptr || text_at(*found, {kAnnotation}).empty()) return;
  Json applied = config;
  if (Json* annotations = find_path(applied, {"metadata", "annotations"})) {
    if (annotations->is_object()) annotations->get_object().stable_erase(kAnnotation);
  }
  std::string text;
  append_sorted_text(text, applied);
  text += '\n';
  JsonObject& annotations = found->get_object();
  annotations[kAnnotation] = text;
  if (size_of(annotations) > kMaxAnnotationsSize) annotations.stable_erase(kAnnotation);
}

}  // namespace yard
