#pragma once
// Validation of autoscaling/v2, in upstream's order and words (pkg/apis/autoscaling/validation of
// 1.34).

#include "api/field_errors.h"

namespace yard {

FieldErrors validate_autoscaler(const Json& object);

}  // namespace yard
