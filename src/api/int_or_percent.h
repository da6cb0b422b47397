#pragma once
// Amounts that are a number or a share, as `1` and `25%` (maxSurge, minAvailable).

#include "api/field_errors.h"

namespace yard {

// A whole number that is not negative, or a percentage. Absence is fine.
void check_int_or_percent(FieldErrors& errors, const FieldPath& path, const Json* value);
void check_not_above_all(FieldErrors& errors, const FieldPath& path, const Json* value);  // 100%
// Neither 0 nor 0%; what is absent or broken counts as none.
bool is_some(const Json* int_or_percent);

}  // namespace yard
