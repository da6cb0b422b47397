#pragma once
// Whether an applied configuration fits its schema, told in upstream's words.

#include "api/schema/schema.h"
#include "base/result.h"

namespace yard {

// Fields the schema does not have, values of another type, items without their keys and items that
// are there twice: `failed to create typed patch object (/w1; ex.io/v1, Kind=Widget): .spec.nope:
// field not declared in schema`.
Result<void> check_config(const Json& config, const Schema& schema);

}  // namespace yard
