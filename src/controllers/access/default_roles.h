#pragma once
// The roles and bindings every cluster has from its first moment (as kube-apiserver 1.34 makes
// them), and the trees they should be. Pure.

#include <vector>

#include "json/json.h"

namespace yard {

// ClusterRoles and ClusterRoleBindings, in the order they can be created.
std::vector<Json> default_access_objects();

// The object as it should be stored, given what is there: rules, subjects and labels that are
// missing are added and nothing is taken away. Null when nothing is to be done, also when someone
// turned automatic updates off.
Json reconciled_access_object(const Json& wanted, const Json& live);

// The rules of a ClusterRole with an aggregationRule: those of all roles its selectors match, by
// name, each once.
JsonArray aggregated_rules(const Json& role, const std::vector<Json>& all);

}  // namespace yard
