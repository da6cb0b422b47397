#pragma once
// Role-based access control as a pure function: the rules that bindings give a user, and whether
// one of them allows a request (api-machinery 8.4).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/access/user.h"
#include "json/json.h"

namespace yard {

struct PolicyRule {
  std::vector<std::string> verbs, api_groups, resources, resource_names, non_resource_urls;
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};
using PolicyRules = std::vector<PolicyRule>;

struct RoleBindingFacts {
  struct Subject {
    std::string kind, ns, name;
  };
  std::string name, ns;  // ns is empty for a ClusterRoleBinding
  std::string role_kind, role_name;
  std::vector<Subject> subjects;
};

// All roles and bindings at one moment. Parts are shared between one moment and the next, so that
// a change costs what changed.
struct AccessRules {
  using Roles = std::map<std::string, std::shared_ptr<const PolicyRules>, std::less<>>;
  struct InNamespace {
    Roles roles;
    std::vector<RoleBindingFacts> bindings;
  };
  std::shared_ptr<const Roles> cluster_roles = std::make_shared<const Roles>();
  std::shared_ptr<const std::vector<RoleBindingFacts>> cluster_bindings =
      std::make_shared<const std::vector<RoleBindingFacts>>();
  std::map<std::string, std::shared_ptr<const InNamespace>, std::less<>> namespaces;

  // Null when there is no such role. `ns` is where a Role is looked for.
  const PolicyRules* role(std::string_view kind, std::string_view ns, std::string_view name) const;
};

// What a request asks for, in the words rules have.
struct AccessAttributes {
  std::string verb;
  bool is_resource = true;
  std::string group, resource, subresource, ns, name;
  std::string path;  // of what is no resource
};

PolicyRules policy_rules(const Json* rules);  // from a role's `rules`
Json to_json(const PolicyRule& rule);
RoleBindingFacts binding_facts(const Json& binding);

bool allows(const PolicyRule& rule, const AccessAttributes& asked);

struct AccessDecision {
  bool allowed = false;
  std::string reason;  // which binding allows it, or which role of a binding is missing
};
AccessDecision decide(const AccessRules& rules, const User& user, const AccessAttributes& asked);

// Every rule the user has in a namespace ("": at the cluster scope). Roles that are missing are
// told in `problems`.
PolicyRules rules_of(const AccessRules& rules, const User& user, std::string_view ns,
                     std::vector<std::string>* problems = nullptr);

// 403 in the API's words: `pods "x" is forbidden: User "bob" cannot get resource "pods" ...`.
Error access_denied(const User& user, const AccessAttributes& asked, std::string_view reason);

}  // namespace yard
