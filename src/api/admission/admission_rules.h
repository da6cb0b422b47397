#pragma once
// Validation of admissionregistration.k8s.io/v1, in upstream's order and words
// (pkg/apis/admissionregistration/validation of 1.34). Expressions are not compiled.

#include "api/field_errors.h"

namespace yard {

FieldErrors validate_webhooks(const Json& object);  // of both configurations
FieldErrors validate_admission_policy(const Json& object);
FieldErrors validate_admission_policy_binding(const Json& object);

}  // namespace yard
