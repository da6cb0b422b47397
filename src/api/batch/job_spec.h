#pragma once
// The Job spec, alone or inside a CronJob (kubernetes-core A1, A9, A10).

#include <string>
#include <vector>

#include "api/field_errors.h"

namespace yard {

// Everything but the selector: a CronJob's job has none yet.
FieldErrors validate_job_spec(const Json& spec, const FieldPath& path);

// `podFailurePolicy` (pod_failure_policy.cpp) and `successPolicy` (success_policy.cpp).
FieldErrors validate_pod_failure_policy(const Json& spec, const FieldPath& path);
FieldErrors validate_success_policy(const Json& spec, const FieldPath& path);
// Patterns match status True unless they say otherwise.
void set_pod_failure_policy_defaults(JsonObject& spec);

// What may change once the Job exists (job_update.cpp).
FieldErrors validate_job_update(const Json& job, const Json& live);
FieldErrors validate_job_status_update(const Json& job, const Json& live);

bool is_indexed(const Json& spec);

}  // namespace yard
