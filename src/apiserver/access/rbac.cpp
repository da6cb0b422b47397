#include "apiserver/access/rbac.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kAll = "*";

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool has_or_all(const std::vector<std::string>& list, std::string_view text) {
  return has(list, kAll) || has(list, text);
}

bool matches_resource(const PolicyRule& rule, const AccessAttributes& asked) {
  for (const std::string& resource : rule.resources) {
    if (resource == kAll) return true;
    if (asked.subresource.empty()) {
      if (resource == asked.resource) return true;
      continue;
    }
    const std::string_view text = resource;
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos || text.substr(slash + 1) != asked.subresource) continue;
    if (text.substr(0, slash) == kAll || text.substr(0, slash) == asked.resource) return true;
  }
  return false;
}

bool matches_path(const PolicyRule& rule, std::string_view path) {
  return std::ranges::any_of(rule.non_resource_urls, [&](std::string_view url) {
    if (url == kAll || url == path) return true;
    return url.ends_with('*') && path.starts_with(url.substr(0, url.find_last_not_of('*') + 1));
  });
}

std::vector<std::string> texts_at(const Json& value, std::string_view key) {
  std::vector<std::string> out;
  for (const Json& text : list_at(value, {key}))
    out.emplace_back(text_of(text));
  return out;
}

// The subject that makes the binding the user's; null when none does.
const RoleBindingFacts::Subject* subject_for(const RoleBindingFacts& binding, const User& user) {
  for (const RoleBindingFacts::Subject& subject : binding.subjects) {
    if (subject.kind == "User" && subject.name == user.name) return &subject;
    if (subject.kind == "Group" && user.is_in(subject.name)) return &subject;
    if (subject.kind != "ServiceAccount") continue;
    const std::string_view ns = subject.ns.empty() ? binding.ns : subject.ns;
    std::string_view name = user.name;
    constexpr std::string_view kPrefix = "system:serviceaccount:";
    if (!name.starts_with(kPrefix)) continue;
    name.remove_prefix(kPrefix.size());
    if (!ns.empty() && name.starts_with(ns) && name.substr(ns.size()).starts_with(":") &&
        name.substr(ns.size() + 1) == subject.name) {
      return &subject;
    }
  }
  return nullptr;
}

std::string description(const RoleBindingFacts& binding, const RoleBindingFacts::Subject& subject) {
  std::string who = subject.name;
  if (subject.kind == "ServiceAccount") who += "/" + (subject.ns.empty() ? binding.ns : subject.ns);
  return fmt::format("{} {} of {} {} to {} {}",
                     binding.ns.empty() ? "ClusterRoleBinding" : "RoleBinding",
                     quoted(binding.ns.empty() ? binding.name : binding.name + "/" + binding.ns),
                     binding.role_kind, quoted(binding.role_name), subject.kind, quoted(who));
}

struct Granted {
  const RoleBindingFacts& binding;
  const RoleBindingFacts::Subject& subject;
  const PolicyRules* rules;  // null: the role is missing
};

// Calls `visit` for each binding of the user until it answers false.
void visit_grants(const AccessRules& all, const User& user, std::string_view ns,
                  const std::function<bool(const Granted&)>& visit) {
  const auto visit_each = [&](const std::vector<RoleBindingFacts>& bindings) {
    for (const RoleBindingFacts& binding : bindings) {
      const RoleBindingFacts::Subject* subject = subject_for(binding, user);
      if (subject == nullptr) continue;
      const PolicyRules* rules = all.role(binding.role_kind, binding.ns, binding.role_name);
      if (!visit({binding, *subject, rules})) return false;
    }
    return true;
  };
  if (!visit_each(*all.cluster_bindings) || ns.empty()) return;
  const auto found = all.namespaces.find(ns);
  if (found != all.namespaces.end()) visit_each(found->second->bindings);
}

std::string missing_role(const RoleBindingFacts& binding) {
  return fmt::format("{}.rbac.authorization.k8s.io {} not found", lower(binding.role_kind),
                     quoted(binding.role_name));
}

std::string all_problems(const std::vector<std::string>& problems) {
  return problems.size() == 1 ? problems.front() : "[" + join(problems, ", ") + "]";
}

}  // namespace

const PolicyRules* AccessRules::role(std::string_view kind, std::string_view ns,
                                     std::string_view name) const {
  const Roles* roles = cluster_roles.get();
  if (kind != "ClusterRole") {
    const auto in = namespaces.find(ns);
    if (in == namespaces.end()) return nullptr;
    roles = &in->second->roles;
  }
  const auto found = roles->find(name);
  return found == roles->end() ? nullptr : found->second.get();
}

PolicyRules policy_rules(const Json* rules) {
  PolicyRules out;
  if (rules == nullptr || !rules->is_array()) return out;
  out.reserve(rules->get_array().size());
  for (const Json& rule : rules->get_array()) {
    out.push_back({texts_at(rule, "verbs"), texts_at(rule, "apiGroups"),
                   texts_at(rule, "resources"), texts_at(rule, "resourceNames"),
                   texts_at(rule, "nonResourceURLs")});
  }
  return out;
}

Json to_json(const PolicyRule& rule) {
  JsonObject out;
  const auto put = [&](const char* name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    JsonArray list;
    for (const std::string& text : texts)
      list.emplace_back(text);
    out[name] = std::move(list);
  };
  put("verbs", rule.verbs);
  put("apiGroups", rule.api_groups);
  put("resources", rule.resources);
  put("resourceNames", rule.resource_names);
  put("nonResourceURLs", rule.non_resource_urls);
  return out;
}

RoleBindingFacts binding_facts(const Json& binding) {
  RoleBindingFacts out;
  out.name = text_at(binding, {"metadata", "name"});
  out.ns = text_at(binding, {"metadata", "namespace"});
  out.role_kind = text_at(binding, {"roleRef", "kind"});
  out.role_name = text_at(binding, {"roleRef", "name"});
  for (const Json& subject : list_at(binding, {"subjects"})) {
    out.subjects.push_back({std::string(text_at(subject, {"kind"})),
                            std::string(text_at(subject, {"namespace"})),
                            std::string(text_at(subject, {"name"}))});
  }
  return out;
}

bool allows(const PolicyRule& rule, const AccessAttributes& asked) {
  if (!has_or_all(rule.verbs, asked.verb)) return false;
  if (!asked.is_resource) return matches_path(rule, asked.path);
  return has_or_all(rule.api_groups, asked.group) && matches_resource(rule, asked) &&
         (rule.resource_names.empty() || has(rule.resource_names, asked.name));
}

AccessDecision decide(const AccessRules& rules, const User& user, const AccessAttributes& asked) {
  if (user.is_admin()) return {true, ""};
  AccessDecision out;
  std::vector<std::string> problems;
  visit_grants(rules, user, asked.is_resource ? std::string_view(asked.ns) : "",
               [&](const Granted& granted) {
                 if (granted.rules == nullptr) {
                   problems.push_back(missing_role(granted.binding));
                   return true;
                 }
                 out.allowed = std::ranges::any_of(
                     *granted.rules, [&](const PolicyRule& rule) { return allows(rule, asked); });
                 if (out.allowed)
                   out.reason = "RBAC: allowed by " + description(granted.binding, granted.subject);
                 return !out.allowed;
               });
  if (!out.allowed && !problems.empty()) out.reason = "RBAC: " + all_problems(problems);
  return out;
}

PolicyRules rules_of(const AccessRules& rules, const User& user, std::string_view ns,
                     std::vector<std::string>* problems) {
  PolicyRules out;
  visit_grants(rules, user, ns, [&](const Granted& granted) {
    if (granted.rules != nullptr) {
      out.insert(out.end(), granted.rules->begin(), granted.rules->end());
    } else if (problems != nullptr) {
      problems->push_back(missing_role(granted.binding));
    }
    return true;
  });
  return out;
}

Error access_denied(const User& user, const AccessAttributes& asked, std::string_view reason) {
  const std::string why = reason.empty() ? "" : ": " + std::string(reason);
  if (!asked.is_resource) {
    Error out = error(Reason::Forbidden,
                      fmt::format("forbidden: User {} cannot {} path {}{}", quoted(user.name),
                                  asked.verb, quoted(asked.path), why));
    return out;
  }
  const std::string resource =
      asked.group.empty() ? asked.resource : asked.resource + "." + asked.group;
  const std::string full =
      asked.subresource.empty() ? asked.resource : asked.resource + "/" + asked.subresource;
  const std::string where = asked.ns.empty() ? std::string("at the cluster scope")
                                             : fmt::format("in the namespace {}", quoted(asked.ns));
  Error out = error(
      Reason::Forbidden,
      fmt::format("{}{} is forbidden: User {} cannot {} resource {} in API group {} {}{}", resource,
                  asked.name.empty() ? "" : " " + quoted(asked.name), quoted(user.name), asked.verb,
                  quoted(full), quoted(asked.group), where, why));
  out.details.name = asked.name;
  out.details.group = asked.group;
  out.details.kind = asked.resource;
  return out;
}

}  // namespace yard
