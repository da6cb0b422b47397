#pragma once
// Which parts of a Pod may change after it was made (kubernetes-core C1).

#include "api/field_errors.h"

namespace yard {

FieldErrors validate_pod_update(const Json& pod, const Json& live);
FieldErrors validate_pod_status_update(const Json& pod, const Json& live);

// Through pods/{name}/ephemeralcontainers: more of them, and those that were there as they were.
FieldErrors validate_ephemeral_containers(const Json& pod, const Json& live);

}  // namespace yard
