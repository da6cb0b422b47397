#include "apiserver/openapi_v2.h"

#include <fmt/format.h>

namespace yard {
namespace {

// Field numbers of gnostic's OpenAPIv2.proto.
enum Number : uint32_t {
  kDocumentSwagger = 1, kDocumentInfo = 2, kDocumentPaths = 8,
  kInfoTitle = 1, kInfoVersion = 2,
  kPathsPath = 2, kNamedName = 1, kNamedValue = 2,
  kPathItemPatch = 8,
  kOperationParameters = 8, kOperationExtension = 13,
  kAnyYaml = 2,
  kItemParameter = 1, kParameterNonBody = 2, kNonBodyQuery = 3, kQueryIn = 2, kQueryName = 4, kQueryType = 6,
};

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

// A string or an embedded message: both are a length and bytes.
std::string field(Number number, std::string_view bytes) {
  std::string out = varint(static_cast<uint64_t>(number) << 3 | 2);
  out += varint(bytes.size());
  out += bytes;
  return out;
}

std::string query_parameter(std::string_view name) {
  const std::string query = field(kQueryIn, "query") + field(kQueryName, name) + field(kQueryType, "string");
  return field(kOperationParameters, field(kItemParameter, field(kParameterNonBody, field(kNonBodyQuery, query))));
}

std::string path_of(const Kind& kind) {
  const std::string base = kind.group.empty() ? "/api/" + kind.version : "/apis/" + kind.group + "/" + kind.version;
  return base + (kind.namespaced ? "/namespaces/{namespace}/" : "/") + kind.plural + "/{name}";
}

std::string path_item(const Kind& kind) {
  const std::string type = fmt::format("group: \"{}\"\nkind: {}\nversion: {}\n", kind.group, kind.kind, kind.version);
  const std::string extension =
      field(kNamedName, "x-kubernetes-group-version-kind") + field(kNamedValue, field(kAnyYaml, type));
  const std::string patch = query_parameter("dryRun") + query_parameter("fieldManager") + field(kOperationExtension, extension);
  return field(kPathsPath, field(kNamedName, path_of(kind)) + field(kNamedValue, field(kPathItemPatch, patch)));
}

}  // namespace

std::string openapi_v2_document(const KindTable& table) {
  std::string paths;
  for (const KindPtr& kind : table.kinds()) {
    if (kind->allows("patch")) paths += path_item(*kind);
  }
  return field(kDocumentSwagger, "2.0") +
         field(kDocumentInfo, field(kInfoTitle, "Kubernetes") + field(kInfoVersion, "v1.34.0")) + field(kDocumentPaths, paths);
}

}  // namespace yard
