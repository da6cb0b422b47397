#pragma once
// From the openAPIV3Schema of a CRD version to the Schema the verbs walk, and the defaults it fills
// in.

#include <memory>

#include "api/schema/schema.h"

namespace yard {

struct CustomSchema {
  std::shared_ptr<const SchemaCatalogue> owner;
  const Schema* root = nullptr;  // a whole object: apiVersion, kind and metadata are added
};

// Never fails: what is not structural (and so was refused before) becomes a value of any type.
CustomSchema compile_custom_schema(const Json& openapi_schema);

// Fills members that are missing, or null where null is not allowed, at every depth.
void apply_defaults(Json& object, const Schema& schema);

}  // namespace yard
