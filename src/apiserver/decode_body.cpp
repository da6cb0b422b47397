// From bytes to a tree, whatever the client speaks.

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "apiserver/change.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

std::string media_type(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

Error unsupported_media_type(bool custom) {
  return error(Reason::UnsupportedMediaType,
               custom ? "the body of the request was in an unknown format - accepted media types include: "
                        "application/json, application/yaml"
                      : "the body of the request was in an unknown format - accepted media types include: "
                        "application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

Error unreadable(std::string_view kind_name, std::string_view what, const RequestBody& body) {
  std::string start(body.bytes.substr(0, 30));
  if (!is_valid_utf8(start)) start = quoted(start);
  return error(Reason::BadRequest, fmt::format("the object provided is unrecognized (must be of type {}): couldn't get "
                                               "version/kind; json parse error: {} ({})",
                                               kind_name, what, start));
}

}  // namespace

Result<DecodedBody> decode_body(const RequestBody& body, std::string_view kind_name, bool custom, JsonMemory memory) {
  const std::string type = media_type(body.content_type);
  if (type.empty() || type == "application/json") {
    auto parsed = parse_json(body.bytes, {}, std::move(memory));
    if (!parsed) return unreadable(kind_name, parsed.error().message, body);
    if (!parsed->value.is_object()) return unreadable(kind_name, "an object was expected", body);
    return DecodedBody{std::move(parsed->value), std::move(parsed->duplicate_fields)};
  }
  DecodedBody out;
  if (type == kProtobuf && !custom) {
    ProtobufObject decoded = TRY(decode_protobuf(body.bytes, builtin_schema_of));
    out.tree = std::move(decoded.value);
    if (!out.tree.is_object()) out.tree = JsonObject();
    out.tree.get_object()["apiVersion"] = decoded.api_version;
    out.tree.get_object()["kind"] = decoded.kind;
    return out;
  }
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    auto documents = parse_yaml(body.bytes);
    if (!documents) return unreadable(kind_name, documents.error().message, body);
    if (documents->size() != 1) return unreadable(kind_name, "one document was expected", body);
    out.tree = std::move(documents->front().parsed.value);
    out.duplicate_fields = std::move(documents->front().parsed.duplicate_fields);
  } else {
    return unsupported_media_type(custom);
  }
  if (!out.tree.is_object()) return unreadable(kind_name, "an object was expected", body);
  return out;
}

Result<PatchType> patch_type(const Kind& kind, std::string_view content_type) {
  const std::string type = media_type(content_type);
  if (type == "application/json-patch+json") return PatchType::JsonPatch;
  if (type == "application/merge-patch+json") return PatchType::MergePatch;
  if (type == "application/strategic-merge-patch+json" && !kind.custom) return PatchType::StrategicMergePatch;
  if (type == "application/apply-patch+yaml") return PatchType::Apply;
  return error(Reason::UnsupportedMediaType,
               fmt::format("the body of the request was in an unknown format - accepted media types include: "
                           "application/json-patch+json, application/merge-patch+json, {}application/apply-patch+yaml",
                           kind.custom ? "" : "application/strategic-merge-patch+json, "));
}

}  // namespace yard
