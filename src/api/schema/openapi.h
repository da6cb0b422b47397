#pragma once
// OpenAPI v3 documents, as `kubectl apply`, `create`, `explain` and `diff` need them
// (api-machinery 1.6). Pure and quick (a few milliseconds for core/v1); whoever serves a document
// keeps it and its hash.

#include <span>
#include <string>
#include <string_view>

#include "api/schema/schema.h"

namespace yard {

struct OpenApiKind {
  std::string_view group;  // empty for core
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  bool namespaced = true;
  bool custom = false;  // from a CRD: no strategic merge patch
  const Schema* schema = nullptr;
  // A custom kind's `openAPIV3Schema` as its author wrote it; shown instead of `schema` where
  // given, since it has the enums, bounds and rules as well.
  const Json* crd_schema = nullptr;
};

// The document of one group and version: every kind with its paths, and every schema they reach.
std::string openapi_document(std::string_view group, std::string_view version,
                             std::span<const OpenApiKind> kinds);

// `io.k8s.api.core.v1.Pod` of the built-in schema core.v1.Pod.
std::string openapi_name(std::string_view builtin_name);
// `io.ex.v1.Widget` of a custom kind: the group's labels backwards.
std::string openapi_name(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace yard
