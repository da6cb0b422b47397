#pragma once
// What volumes and claims have in common.

#include "api/validation.h"

namespace yard {

// `missing` is the detail of the Required error for no mode at all.
void check_access_modes(FieldErrors& errors, const Json& object, std::string_view missing);
void check_class_and_mode(FieldErrors& errors, const Json& object);
// A quantity above zero at `path`; absent is the caller's concern.
void check_positive_quantity(FieldErrors& errors, const FieldPath& path, const Json& value);

}  // namespace yard
