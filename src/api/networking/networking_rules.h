#pragma once
// Validation of networking.k8s.io/v1, in upstream's order and words (pkg/apis/networking/validation
// of 1.34).

#include "api/field_errors.h"

namespace yard {

FieldErrors validate_network_policy(const Json& object);
FieldErrors validate_ingress(const Json& object);
FieldErrors validate_ingress_class(const Json& object);
FieldErrors validate_ingress_class_update(const Json& object, const Json& live);

}  // namespace yard
