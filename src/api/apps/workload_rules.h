#pragma once
// Validation of apps/v1, in upstream's order and words (pkg/apis/apps/validation of 1.34).

#include "api/field_errors.h"

namespace yard {

FieldErrors validate_deployment(const Json& object);
FieldErrors validate_replica_set(const Json& object);
FieldErrors validate_stateful_set(const Json& object);
FieldErrors validate_daemon_set(const Json& object);
FieldErrors validate_controller_revision(const Json& object);

FieldErrors validate_stateful_set_update(const Json& object, const Json& live);
FieldErrors validate_controller_revision_update(const Json& object, const Json& live);

}  // namespace yard
