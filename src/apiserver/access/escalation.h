#pragma once
// Nobody grants what they do not have: the check of every write of a role or binding. Pure.

#include "api/kind.h"
#include "apiserver/access/rbac.h"

namespace yard {

// The rules of `wanted` that `owned` does not cover, joined per resource and in order. Too many to
// compare is an error.
Result<std::vector<PolicyRule>> rules_not_covered(const PolicyRules& owned,
                                                  const PolicyRules& wanted);
std::string to_text(const PolicyRule& rule);  // {APIGroups:[""], Resources:["pods"], Verbs:["get"]}

// `next` is the object about to be stored, `live` what it replaces (null: nothing).
Result<void> check_escalation(const Kind& kind, const AccessRules& rules, const User& user,
                              const Json& next, const Json* live);

}  // namespace yard
