#pragma once
// What admission adds to a Pod on create, in this order: limit ranges, service account, priority,
// default tolerations; then it holds the result against its namespace's security standard. All of
// it is unowned; a refusal is Forbidden.

#include "api/kind.h"

namespace yard {

Result<void> apply_limit_ranges(Json& pod, const ClusterFacts& cluster);
Result<void> check_claim_limits(const Json& claim, const ClusterFacts& cluster);
Result<void> admit_service_account(Json& pod, const Admission& admission);
Result<void> admit_priority(Json& pod, const ClusterFacts& cluster);
void add_default_tolerations(Json& pod);
Result<void> admit_security(const Json& pod, const Admission& admission);

// `pods "x" is forbidden: why`
Error pod_forbidden(const Json& pod, std::string_view why);

}  // namespace yard
