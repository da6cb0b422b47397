#pragma once
// The Pod Security Standards: what the labels pod-security.kubernetes.io/… of a namespace ask of
// its pods. Pure.

#include <string>
#include <vector>

#include "api/field_errors.h"
#include "json/json.h"

namespace yard {

enum class SecurityLevel { Privileged, Baseline, Restricted };

struct SecurityStandard {
  SecurityLevel level = SecurityLevel::Privileged;
  int minor = 0;  // of Kubernetes, whose rules are meant; 0: the latest

  bool operator==(const SecurityStandard&) const = default;
  std::string text() const;  // restricted:latest, baseline:v1.30
};

struct SecurityPolicy {
  SecurityStandard enforce, warn;
};

// What the labels say. A word that is none refuses pods as if it said restricted and warns of
// nothing, as upstream does; `problems` gets a field error for each.
SecurityPolicy security_policy_of(const Json& labels, FieldErrors* problems = nullptr);

// Every breach as `what (who must do what)`, joined by commas; "" for a pod that holds the
// standard.
std::string security_breaches(const Json& pod, const SecurityStandard& standard);

// would violate PodSecurity "restricted:latest": …
std::string security_warning(const SecurityStandard& standard, std::string_view breaches);

// The pod inside a workload of this kind; null for kinds that have none.
const Json* pod_template_in(std::string_view group, std::string_view kind, const Json& object);

}  // namespace yard
