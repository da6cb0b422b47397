#include "api/schema/openapi.h"

#include <set>

#include <gtest/gtest.h>

namespace yard {
namespace {

Json parsed(std::string_view text) {
  Result<ParsedJson> read = parse_json(text);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
  if (!read) return {};
  EXPECT_TRUE(read->duplicate_fields.empty()) << read->duplicate_fields.front();
  return std::move(read->value);
}

OpenApiKind builtin(std::string_view group, std::string_view kind, std::string_view plural,
                    bool namespaced = true) {
  const std::string api_version = group.empty() ? "v1" : std::string(group) + "/v1";
  return {group,  "v1", kind, plural, namespaced, false, builtin_schema_of(api_version, kind),
          nullptr};
}

std::vector<OpenApiKind> core_kinds() {
  return {builtin("", "Pod", "pods"),
          builtin("", "ConfigMap", "configmaps"),
          builtin("", "Secret", "secrets"),
          builtin("", "Service", "services"),
          builtin("", "Node", "nodes", false),
          builtin("", "Namespace", "namespaces", false),
          builtin("", "Event", "events"),
          builtin("", "PersistentVolumeClaim", "persistentvolumeclaims"),
          builtin("", "Endpoints", "endpoints")};
}

void collect_references(const Json& value, std::set<std::string>& into) {
  if (const JsonArray* array = value.if_array()) {
    for (const Json& element : *array)
      collect_references(element, into);
  } else if (const JsonObject* object = value.if_object()) {
    for (const auto& member : *object) {
      if (member.key() == "$ref" && member.value().is_string()) {
        into.emplace(std::string_view(member.value().get_string()));
      }
      collect_references(member.value(), into);
    }
  }
}

void expect_references_resolve(const Json& document) {
  constexpr std::string_view kPrefix = "#/components/schemas/";
  std::set<std::string> references;
  collect_references(document, references);
  EXPECT_FALSE(references.empty());
  for (const std::string& reference : references) {
    ASSERT_TRUE(reference.starts_with(kPrefix)) << reference;
    EXPECT_NE(find_path(document, {"components", "schemas", reference.substr(kPrefix.size())}),
              nullptr)
        << reference;
  }
}

std::string at(const Json& document, std::initializer_list<std::string_view> path) {
  const Json* found = find_path(document, path);
  return found != nullptr ? to_text(*found) : "absent";
}

TEST(OpenApi, EveryReferenceOfEveryGroupResolves) {
  const OpenApiKind kinds[] = {builtin("batch", "Job", "jobs"),
                               builtin("apps", "Deployment", "deployments"),
                               builtin("apiextensions.k8s.io", "CustomResourceDefinition",
                                       "customresourcedefinitions", false),
                               builtin("policy", "PodDisruptionBudget", "poddisruptionbudgets"),
                               builtin("coordination.k8s.io", "Lease", "leases")};
  for (const OpenApiKind& kind : kinds) {
    expect_references_resolve(parsed(openapi_document(kind.group, "v1", std::span(&kind, 1))));
  }
  expect_references_resolve(parsed(openapi_document("", "v1", core_kinds())));
}

TEST(OpenApi, BuiltInKindsAreComplete) {
  const Json document = parsed(openapi_document("", "v1", core_kinds()));
  const std::string_view pod = "io.k8s.api.core.v1.Pod", pod_spec = "io.k8s.api.core.v1.PodSpec";
  const std::string_view path = "/api/v1/namespaces/{namespace}/pods/{name}";
  struct Case {
    const char* about;
    std::initializer_list<std::string_view> path;
    const char* expected;
  };
  const Case cases[] = {
      {"the kind",
       {"components", "schemas", pod, "x-kubernetes-group-version-kind"},
       R"([{"group":"","version":"v1","kind":"Pod"}])"},
      {"its spec",
       {"components", "schemas", pod, "properties", "spec", "allOf"},
       R"([{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}])"},
      {"type members",
       {"components", "schemas", pod, "properties", "apiVersion"},
       R"({"type":"string"})"},
      {"a map-list",
       {"components", "schemas", pod_spec, "properties", "volumes"},
       R"({"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.Volume"}]},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"x-kubernetes-patch-strategy":"merge,retainKeys","x-kubernetes-patch-merge-key":"name","description":"Directories and files the containers may mount."})"},
      {"an atomic map",
       {"components", "schemas", pod_spec, "properties", "nodeSelector", "x-kubernetes-map-type"},
       R"("atomic")"},
      {"what is required", {"components", "schemas", pod_spec, "required"}, R"(["containers"])"},
      {"inlined members",
       {"components", "schemas", "io.k8s.api.core.v1.Volume", "properties", "emptyDir", "allOf"},
       R"([{"$ref":"#/components/schemas/io.k8s.api.core.v1.EmptyDirVolumeSource"}])"},
      {"quantities",
       {"components", "schemas", "io.k8s.apimachinery.pkg.api.resource.Quantity", "oneOf"},
       R"([{"type":"string"},{"type":"number"}])"},
      {"a field's variant of a struct",
       {"components", "schemas", "io.k8s.api.core.v1.ObjectReference", "x-kubernetes-map-type"},
       R"("atomic")"},
      {"get",
       {"paths", path, "get", "x-kubernetes-group-version-kind"},
       R"({"group":"","version":"v1","kind":"Pod"})"},
      {"the answer",
       {"paths", path, "get", "responses", "200", "content", "application/json", "schema", "$ref"},
       R"("#/components/schemas/io.k8s.api.core.v1.Pod")"},
      {"patch types",
       {"paths", path, "patch", "requestBody", "content"},
       R"({"application/apply-patch+yaml":{},"application/json-patch+json":{},"application/merge-patch+json":{},"application/strategic-merge-patch+json":{}})"},
      {"cluster kinds have no namespace",
       {"paths", "/api/v1/nodes/{name}", "get", "x-kubernetes-action"},
       R"("get")"},
  };
  for (const Case& row : cases)
    EXPECT_EQ(at(document, row.path), row.expected) << row.about;
  const std::string patch = at(document, {"paths", path, "patch", "parameters"});
  EXPECT_NE(patch.find(R"("name":"fieldValidation","in":"query")"), std::string::npos) << patch;
}

TEST(OpenApi, CustomKinds) {
  const Json crd_schema = parsed(
      R"({"type":"object","description":"A widget.","required":["spec"],"properties":{"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"type":"object","properties":{"mode":{"type":"string","enum":["a","b"]}}}}})");
  SchemaCatalogue catalogue;
  Schema* port = catalogue.add();
  port->type = Schema::Type::IntOrString;
  port->nullable = true;
  Schema* root = catalogue.add();
  root->type = Schema::Type::Struct;
  root->fields.resize(1);
  root->fields[0].name = "port";
  root->fields[0].schema = port;
  root->finish();
  const OpenApiKind kinds[] = {{"ex.io", "v1", "Widget", "widgets", true, true, root, &crd_schema},
                               {"ex.io", "v1", "Gadget", "gadgets", true, true, root, nullptr},
                               {"ex.io", "v2", "Other", "others", true, true, root, nullptr}};
  const Json document = parsed(openapi_document("ex.io", "v1", kinds));
  expect_references_resolve(document);
  EXPECT_EQ(at(document, {"components", "schemas", "io.ex.v1.Widget", "properties", "spec",
                          "properties", "mode", "enum"}),
            R"(["a","b"])");
  EXPECT_EQ(
      at(document, {"components", "schemas", "io.ex.v1.Widget", "x-kubernetes-group-version-kind"}),
      R"([{"group":"ex.io","version":"v1","kind":"Widget"}])");
  EXPECT_EQ(
      at(document, {"components", "schemas", "io.ex.v1.Gadget", "properties", "port"}),
      R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true,"nullable":true})");
  EXPECT_EQ(at(document, {"components", "schemas", "io.ex.v2.Other"}), "absent");
  const Json* content =
      find_path(document, {"paths", "/apis/ex.io/v1/namespaces/{namespace}/widgets/{name}", "patch",
                           "requestBody", "content"});
  ASSERT_NE(content, nullptr);
  EXPECT_EQ(find(*content, "application/strategic-merge-patch+json"), nullptr);
  EXPECT_NE(find(*content, "application/apply-patch+yaml"), nullptr);
}

}  // namespace
}  // namespace yard
