#include "apiserver/access/escalation.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/status.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr size_t kMostSingleRules = 20'000;  // one verb on one resource each

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool covers_resource(const std::vector<std::string>& owned, const std::string& wanted) {
  if (has(owned, "*") || has(owned, wanted)) return true;
  const size_t slash = wanted.find('/');
  return slash != std::string::npos && has(owned, "*" + wanted.substr(slash));
}

bool covers_url(const std::vector<std::string>& owned, std::string_view wanted) {
  return std::ranges::any_of(owned, [&](std::string_view url) {
    if (url == "*" || url == wanted) return true;
    return url.ends_with('*') && wanted.starts_with(url.substr(0, url.find_last_not_of('*') + 1));
  });
}

// `wanted` is a single rule: at most one of each.
bool covers(const PolicyRule& owned, const PolicyRule& wanted) {
  if (!has(owned.verbs, "*") && !has(owned.verbs, wanted.verbs.front())) return false;
  if (!wanted.non_resource_urls.empty())
    return covers_url(owned.non_resource_urls, wanted.non_resource_urls.front());
  return (has(owned.api_groups, "*") || has(owned.api_groups, wanted.api_groups.front())) &&
         covers_resource(owned.resources, wanted.resources.front()) &&
         (owned.resource_names.empty() ||
          (!wanted.resource_names.empty() &&
           has(owned.resource_names, wanted.resource_names.front())));
}

// Calls `visit` for each verb on each resource of each group (and name) of the rule, and for each
// path.
bool visit_single_rules(const PolicyRule& rule, size_t& budget,
                        const std::function<void(PolicyRule)>& visit) {
  const std::vector<std::string> any_name{""};
  const auto& names = rule.resource_names.empty() ? any_name : rule.resource_names;
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        for (const std::string& name : names) {
          if (budget-- == 0) return false;
          PolicyRule single{{verb}, {group}, {resource}, {}, {}};
          if (!rule.resource_names.empty()) single.resource_names = {name};
          visit(std::move(single));
        }
      }
    }
  }
  for (const std::string& url : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) {
      if (budget-- == 0) return false;
      visit(PolicyRule{{verb}, {}, {}, {}, {url}});
    }
  }
  return true;
}

// Verbs of one resource stand together.
void add_joined(std::vector<PolicyRule>& out, PolicyRule single) {
  for (PolicyRule& rule : out) {
    if (single.non_resource_urls.empty() && rule.api_groups == single.api_groups &&
        rule.resources == single.resources && rule.resource_names == single.resource_names &&
        rule.non_resource_urls.empty()) {
      if (!has(rule.verbs, single.verbs.front())) rule.verbs.push_back(single.verbs.front());
      return;
    }
  }
  out.push_back(std::move(single));
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(quoted(text));
  return "[" + join(out, " ") + "]";
}

bool may(const AccessRules& rules, const User& user, const char* verb, std::string_view resource,
         std::string_view ns, std::string_view name) {
  AccessAttributes asked;
  asked.verb = verb;
  asked.group = kGroup;
  asked.resource = resource;
  asked.ns = ns;
  asked.name = name;
  return decide(rules, user, asked).allowed;
}

// Finalizers and owners may always be taken off, else what is forbidden could never be deleted.
bool changes_only_ownership(const Json& next, const Json* live) {
  if (live == nullptr) return false;
  Json left = next, right = *live;
  for (Json* tree : {&left, &right}) {
    JsonObject& metadata = object_at(tree->get_object(), "metadata");
    for (const char* member :
         {"finalizers", "ownerReferences", "managedFields", "resourceVersion", "generation"})
      metadata.erase(member);
  }
  return equal(left, right);
}

Result<void> check_held(const Kind& kind, std::string_view name, const AccessRules& rules,
                        const User& user, std::string_view ns, const PolicyRules& wanted) {
  std::vector<std::string> problems;
  auto missing = rules_not_covered(rules_of(rules, user, ns, &problems), wanted);
  if (!missing) return forbidden_error(kind, name, missing.error().message);
  if (missing->empty()) return {};
  std::vector<std::string> texts;
  for (const PolicyRule& rule : *missing)
    texts.push_back(to_text(rule));
  std::ranges::sort(texts);
  std::string why = fmt::format(
      "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
      quoted(user.name), quoted_list(user.groups), join(texts, "\n"));
  if (!problems.empty()) why += "; resolution errors: [" + join(problems, ", ") + "]";
  return forbidden_error(kind, name, why);
}

Result<void> check_role(const Kind& kind, const AccessRules& rules, const User& user,
                        const Json& next, const Json* live) {
  const std::string_view ns = text_at(next, {"metadata", "namespace"}),
                         name = text_at(next, {"metadata", "name"});
  if (may(rules, user, "escalate", kind.plural, ns, name)) return {};
  TRY(check_held(kind, name, rules, user, ns, policy_rules(find(next, "rules"))));
  const Json* aggregation = find(next, "aggregationRule");
  const bool aggregates = aggregation != nullptr && !aggregation->is_null();
  const bool aggregated = live != nullptr && find(*live, "aggregationRule") != nullptr;
  if (!aggregates && !aggregated) return {};
  const PolicyRules everything{{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
  auto missing = rules_not_covered(rules_of(rules, user, ""), everything);
  if (missing && missing->empty()) return {};
  return forbidden_error(kind, name,
                         "must have cluster-admin privileges to use the aggregationRule");
}

Result<void> check_binding(const Kind& kind, const AccessRules& rules, const User& user,
                           const Json& next) {
  const RoleBindingFacts binding = binding_facts(next);
  const bool of_cluster = binding.role_kind == "ClusterRole";
  if (may(rules, user, "bind", of_cluster ? "clusterroles" : "roles", binding.ns,
          binding.role_name)) {
    return {};
  }
  const PolicyRules* role = rules.role(binding.role_kind, binding.ns, binding.role_name);
  if (role == nullptr) return not_found_error(kind, binding.role_name);
  return check_held(kind, binding.name, rules, user, binding.ns, *role);
}

}  // namespace

std::string to_text(const PolicyRule& rule) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::vector<std::string>& texts) {
    if (!texts.empty()) parts.push_back(std::string(name) + ":" + quoted_list(texts));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return "{" + join(parts, ", ") + "}";
}

Result<std::vector<PolicyRule>> rules_not_covered(const PolicyRules& owned,
                                                  const PolicyRules& wanted) {
  std::vector<PolicyRule> out;
  size_t budget = kMostSingleRules;
  for (const PolicyRule& rule : wanted) {
    const bool all = visit_single_rules(rule, budget, [&](PolicyRule single) {
      const bool is_owned =
          std::ranges::any_of(owned, [&](const PolicyRule& each) { return covers(each, single); });
      if (!is_owned) add_joined(out, std::move(single));
    });
    if (!all)
      return error(Reason::Forbidden,
                   fmt::format("the role has more than {} combinations of verb, group, resource "
                               "and name; grant it in several roles",
                               kMostSingleRules));
  }
  return out;
}

Result<void> check_escalation(const Kind& kind, const AccessRules& rules, const User& user,
                              const Json& next, const Json* live) {
  if (kind.group != kGroup || user.is_admin() || changes_only_ownership(next, live)) return {};
  if (kind.kind == "Role" || kind.kind == "ClusterRole")
    return check_role(kind, rules, user, next, live);
  return check_binding(kind, rules, user, next);
}

}  // namespace yard
