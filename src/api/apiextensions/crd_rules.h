#pragma once
// What makes a CustomResourceDefinition acceptable (api-machinery 6.2), in two halves.

#include "api/validation.h"

namespace yard {

// Names, scope, versions, columns, subresources.
FieldErrors validate_definition(const Json& definition);

// An openAPIV3Schema must be structural: every value has one type, known without looking at the
// data.
void check_structural_schema(FieldErrors& errors, const FieldPath& path, const Json& schema);

}  // namespace yard
