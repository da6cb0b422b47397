#include "api/schema/openapi.h"

#include "api/schema/openapi_schemas.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kWriteParameters =
    R"("parameters":[{"name":"dryRun","in":"query","schema":{"type":"string","uniqueItems":true}},)"
    R"({"name":"fieldManager","in":"query","schema":{"type":"string","uniqueItems":true}},)"
    R"({"name":"fieldValidation","in":"query","schema":{"type":"string","uniqueItems":true}}],)";

struct Operation {
  std::string_view method;
  std::string_view action;  // x-kubernetes-action
  bool takes_object = false;
  bool answers_object = false;
};

constexpr Operation kOneObject[] = {{"get", "get", false, true},
                                    {"put", "put", true, true},
                                    {"patch", "patch", false, true},
                                    {"delete", "delete", false, false}};
constexpr Operation kManyObjects[] = {{"get", "list", false, false}, {"post", "post", true, true}};

class PathWriter {
 public:
  explicit PathWriter(const OpenApiKind& kind) : kind_(kind) {
    content_ = R"({"schema":{"$ref":"#/components/schemas/)";
    content_ += kind.custom ? openapi_name(kind.group, kind.version, kind.kind)
                            : openapi_name(kind.schema->name);
    content_ += "\"}}";
    gvk_ = R"("x-kubernetes-group-version-kind":{"group":)";
    append_quoted(gvk_, kind.group);
    gvk_ += R"(,"version":)";
    append_quoted(gvk_, kind.version);
    gvk_ += R"(,"kind":)";
    append_quoted(gvk_, kind.kind);
    gvk_ += '}';
  }

  void write(std::string& out) const {
    std::string path = kind_.group.empty() ? "/api/" : "/apis/" + std::string(kind_.group) + "/";
    path.append(kind_.version);
    if (kind_.namespaced) path += "/namespaces/{namespace}";
    path.append("/").append(kind_.plural);
    write_path(out, path, kManyObjects, false);
    out += ',';
    write_path(out, path + "/{name}", kOneObject, true);
  }

 private:
  void write_path(std::string& out, std::string_view path, std::span<const Operation> operations,
                  bool named) const {
    append_quoted(out, path);
    out += ":{";
    for (const Operation& operation : operations) {
      write_operation(out, operation);
      out += ',';
    }
    out += R"("parameters":[)";
    if (kind_.namespaced) write_path_parameter(out, "namespace");
    if (kind_.namespaced && named) out += ',';
    if (named) write_path_parameter(out, "name");
    out += "]}";
  }

  static void write_path_parameter(std::string& out, std::string_view name) {
    out += R"({"in":"path","required":true,"schema":{"type":"string","uniqueItems":true},"name":")";
    out += name;
    out += "\"}";
  }

  void write_operation(std::string& out, const Operation& operation) const {
    const bool patches = operation.method == "patch";
    out += '"';
    out += operation.method;
    out += R"(":{"x-kubernetes-action":")";
    out += operation.action;
    out += "\",";
    out += gvk_;
    out += ',';
    if (operation.takes_object || patches) out += kWriteParameters;
    if (operation.takes_object) {
      out += R"("requestBody":{"content":{"*/*":)";
      out += content_;
      out += "}},";
    }
    if (patches) write_patch_types(out);
    out += R"("responses":{"200":{"description":"OK")";
    if (operation.answers_object) {
      out += R"(,"content":{"application/json":)";
      out += content_;
      out += '}';
    }
    out += "}}}";
  }

  void write_patch_types(std::string& out) const {
    out +=
        R"("requestBody":{"content":{"application/apply-patch+yaml":{},"application/json-patch+json":{},)";
    out += R"("application/merge-patch+json":{})";
    if (!kind_.custom) out += R"(,"application/strategic-merge-patch+json":{})";
    out += "}},";
  }

  const OpenApiKind& kind_;
  std::string content_;
  std::string gvk_;
};

}  // namespace

std::string openapi_name(std::string_view builtin_name) {
  std::string name =
      builtin_name.starts_with("meta.")              ? "io.k8s.apimachinery.pkg.apis."
      : builtin_name.starts_with("apiextensions.")   ? "io.k8s.apiextensions-apiserver.pkg.apis."
      : builtin_name.starts_with("apiregistration.") ? "io.k8s.kube-aggregator.pkg.apis."
                                                     : "io.k8s.api.";
  name += builtin_name;
  return name;
}

std::string openapi_name(std::string_view group, std::string_view version, std::string_view kind) {
  std::string name;
  const std::vector<std::string_view> labels = split(group, '.');
  for (auto label = labels.rbegin(); label != labels.rend(); ++label)
    name.append(*label).append(".");
  name.append(version).append(".").append(kind);
  return name;
}

std::string openapi_document(std::string_view group, std::string_view version,
                             std::span<const OpenApiKind> kinds) {
  std::string out;
  out.reserve(512 * 1024);
  out += R"({"openapi":"3.0.0","info":{"title":"Kubernetes","version":"v1.34.0"},"paths":{)";
  bool first = true;
  std::vector<OpenApiKind> own;
  for (const OpenApiKind& kind : kinds) {
    if (kind.group == group && kind.version == version && kind.schema != nullptr)
      own.push_back(kind);
  }
  for (const OpenApiKind& kind : own) {
    if (!first) out += ',';
    first = false;
    PathWriter(kind).write(out);
  }
  out += R"(},"components":{"schemas":{)";
  OpenApiSchemas().write(out, own);
  out += "}}}";
  return out;
}

}  // namespace yard
