#pragma once
// Defaults in a definition's schema must themselves fit that schema: they become part of objects
// unseen.

#include "api/field_errors.h"

namespace yard {

void check_schema_defaults(FieldErrors& errors, const FieldPath& path, const Json& openapi_schema);

}  // namespace yard
