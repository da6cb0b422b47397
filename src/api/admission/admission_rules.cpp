#include "api/admission/admission_rules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/checks.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

const Json& none() {
  static const Json kNone = JsonObject();
  return kNone;
}

bool has_text(const JsonArray& list, std::string_view text) {
  return std::ranges::any_of(list, [&](const Json& each) { return text_of(each) == text; });
}

void check_wildcard_alone(FieldErrors& errors, const JsonArray& list, const FieldPath& path,
                          std::string_view what) {
  if (list.size() > 1 && has_text(list, "*"))
    errors.push_back(invalid(path, Json(list),
                             fmt::format("if '*' is present, must not specify other {}", what)));
}

void check_resources(FieldErrors& errors, const JsonArray& resources, const FieldPath& path) {
  if (resources.empty()) errors.push_back(required(path));
  for (size_t i = 0; i < resources.size(); ++i) {
    if (text_of(resources[i]).empty()) errors.push_back(required(path.index(i)));
  }
  const auto is_whole = [](const Json& each) {
    return text_of(each).find('/') == std::string_view::npos;
  };
  if (resources.size() > 1 && has_text(resources, "*/*"))
    errors.push_back(
        invalid(path, Json(resources), "if '*/*' is present, must not specify other resources"));
  if (has_text(resources, "*") && std::ranges::count_if(resources, is_whole) > 1)
    errors.push_back(
        invalid(path, Json(resources),
                "if '*' is present, must not specify other resources without subresources"));
}

// Which requests: of webhooks and of policies.
void check_rule(FieldErrors& errors, const Json& rule, const FieldPath& path) {
  const JsonArray &operations = list_at(rule, {"operations"}),
                  &groups = list_at(rule, {"apiGroups"}),
                  &versions = list_at(rule, {"apiVersions"});
  if (operations.empty()) errors.push_back(required(path.child("operations")));
  check_wildcard_alone(errors, operations, path.child("operations"), "operations");
  for (size_t i = 0; i < operations.size(); ++i)
    check_one_of(errors, path.child("operations").index(i), &operations[i],
                 {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, Presence::Required);
  if (groups.empty()) errors.push_back(required(path.child("apiGroups")));
  check_wildcard_alone(errors, groups, path.child("apiGroups"), "API groups");
  if (versions.empty()) errors.push_back(required(path.child("apiVersions")));
  check_wildcard_alone(errors, versions, path.child("apiVersions"), "API versions");
  for (size_t i = 0; i < versions.size(); ++i) {
    if (text_of(versions[i]).empty())
      errors.push_back(required(path.child("apiVersions").index(i)));
  }
  check_resources(errors, list_at(rule, {"resources"}), path.child("resources"));
  check_supported(errors, rule, "scope", path, {"*", "Cluster", "Namespaced"});
}

void check_url(FieldErrors& errors, std::string_view url, const FieldPath& path) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const size_t scheme_end = url.find("://");
  const std::string_view scheme =
      scheme_end == std::string_view::npos ? std::string_view() : url.substr(0, scheme_end);
  if (scheme != "https")
    errors.push_back(invalid(path, Json(scheme),
                             fmt::format("'https' is the only allowed URL scheme{}", kForm)));
  std::string_view rest = scheme_end == std::string_view::npos ? url : url.substr(scheme_end + 3);
  const size_t fragment = rest.find('#');
  const std::string_view after =
      fragment == std::string_view::npos ? "" : rest.substr(fragment + 1);
  rest = rest.substr(0, fragment);
  const size_t question = rest.find('?');
  const std::string_view query =
      question == std::string_view::npos ? "" : rest.substr(question + 1);
  std::string_view host = rest.substr(0, std::min(rest.find('/'), question));
  const size_t at = host.find('@');
  const std::string_view user = at == std::string_view::npos ? "" : host.substr(0, at);
  if (at != std::string_view::npos) host = host.substr(at + 1);
  if (host.empty() || scheme_end == std::string_view::npos)
    errors.push_back(invalid(path, Json(""), fmt::format("host must be specified{}", kForm)));
  if (!user.empty())
    errors.push_back(invalid(path, Json(user), "user information is not permitted in the URL"));
  if (!after.empty())
    errors.push_back(invalid(path, Json(after), "fragments are not permitted in the URL"));
  if (!query.empty())
    errors.push_back(invalid(path, Json(query), "query parameters are not permitted in the URL"));
}

void check_service_path(FieldErrors& errors, std::string_view text, const FieldPath& path) {
  if (text.empty() || text == "/") return;
  if (!text.starts_with('/')) errors.push_back(invalid(path, Json(text), "must start with a '/'"));
  std::string_view inner = text.substr(1);
  if (inner.ends_with('/')) inner.remove_suffix(1);
  const std::vector<std::string_view> steps = split(inner, '/');
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].empty()) {
      errors.push_back(invalid(path, Json(text), fmt::format("segment[{}] may not be empty", i)));
      continue;
    }
    for (const std::string& problem : dns1123_subdomain_problems(steps[i]))
      errors.push_back(invalid(path, Json(text), fmt::format("segment[{}]: {}", i, problem)));
  }
}

void check_client(FieldErrors& errors, const Json& webhook, const FieldPath& path) {
  const Json* url = find_path(webhook, {"clientConfig", "url"});
  const Json* service = find_path(webhook, {"clientConfig", "service"});
  if ((url == nullptr) == (service == nullptr)) {
    errors.push_back(required(path, "exactly one of url or service is required"));
  } else if (url != nullptr) {
    check_url(errors, text_of(*url), path.child("url"));
  } else {
    const FieldPath at = path.child("service");
    require_member(errors, *service, "name", at);
    require_member(errors, *service, "namespace", at);
    const int64_t port = int_at(*service, {"port"}, 443);
    if (port < 1 || port > 65535)
      errors.push_back(invalid(at.child("port"), Json(port),
                               "port is not valid: must be between 1 and 65535, inclusive"));
    check_service_path(errors, text_at(*service, {"path"}), at.child("path"));
  }
}

void check_conditions(FieldErrors& errors, const JsonArray& conditions, const FieldPath& path) {
  for (size_t i = 0; i < conditions.size(); ++i) {
    require_member(errors, conditions[i], "expression", path.index(i));
    const std::string_view name = text_at(conditions[i], {"name"});
    if (name.empty()) {
      errors.push_back(required(path.index(i).child("name")));
    } else {
      add_problems(errors, path.index(i).child("name"), name, qualified_name_problems(name));
    }
  }
}

void check_review_versions(FieldErrors& errors, const Json& webhook, const FieldPath& path) {
  const JsonArray& versions = list_at(webhook, {"admissionReviewVersions"});
  if (versions.empty()) {
    errors.push_back(required(path, "must specify one of v1, v1beta1"));
    return;
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (!seen.insert(text_of(versions[i])).second)
      errors.push_back(invalid(path.index(i), versions[i], "duplicate version"));
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    errors.push_back(invalid(path, Json(versions), "must include at least one of v1, v1beta1"));
}

void check_webhook_name(FieldErrors& errors, std::string_view name, const FieldPath& path) {
  if (name.empty()) {
    errors.push_back(required(path));
    return;
  }
  const std::vector<std::string> problems = dns1123_subdomain_problems(name);
  add_problems(errors, path, name, problems);
  if (problems.empty() && split(name, '.').size() < 3)
    errors.push_back(invalid(path, Json(name),
                             "should be a domain with at least three segments separated by dots"));
}

void check_selectors(FieldErrors& errors, const Json& parent, const FieldPath& path) {
  for (const char* member : {"namespaceSelector", "objectSelector"})
    append_errors(errors, validate_label_selector(find(parent, member), path.child(member)));
}

void check_rules(FieldErrors& errors, const Json& parent, const char* member,
                 const FieldPath& path) {
  const JsonArray& rules = list_at(parent, {member});
  for (size_t i = 0; i < rules.size(); ++i)
    check_rule(errors, rules[i], path.child(member).index(i));
}

void check_webhook(FieldErrors& errors, const Json& webhook, const FieldPath& path) {
  check_webhook_name(errors, text_at(webhook, {"name"}), path.child("name"));
  check_rules(errors, webhook, "rules", path);
  check_supported(errors, webhook, "failurePolicy", path, {"Fail", "Ignore"});
  check_supported(errors, webhook, "matchPolicy", path, {"Equivalent", "Exact"});
  if (text_at(webhook, {"sideEffects"}).empty()) {
    errors.push_back(required(path.child("sideEffects"), "must specify one of None, NoneOnDryRun"));
  } else {
    check_supported(errors, webhook, "sideEffects", path, {"None", "NoneOnDryRun"});
  }
  const int64_t timeout = int_at(webhook, {"timeoutSeconds"}, 10);
  if (timeout < 1 || timeout > 30)
    errors.push_back(invalid(path.child("timeoutSeconds"), Json(timeout),
                             "the timeout value must be between 1 and 30 seconds"));
  check_selectors(errors, webhook, path);
  check_supported(errors, webhook, "reinvocationPolicy", path, {"IfNeeded", "Never"});
  check_client(errors, webhook, path.child("clientConfig"));
  check_conditions(errors, list_at(webhook, {"matchConditions"}), path.child("matchConditions"));
  check_review_versions(errors, webhook, path.child("admissionReviewVersions"));
}

void check_matched(FieldErrors& errors, const Json& match, const FieldPath& path) {
  check_supported(errors, match, "matchPolicy", path, {"Equivalent", "Exact"});
  check_selectors(errors, match, path);
  check_rules(errors, match, "resourceRules", path);
  check_rules(errors, match, "excludeResourceRules", path);
}

void check_validations(FieldErrors& errors, const Json& spec, const FieldPath& path) {
  const JsonArray &validations = list_at(spec, {"validations"}),
                  &annotations = list_at(spec, {"auditAnnotations"});
  if (validations.empty() && annotations.empty()) {
    for (const char* member : {"validations", "auditAnnotations"})
      errors.push_back(required(path.child(member),
                                "validations or auditAnnotations must contain at least one item"));
  }
  for (size_t i = 0; i < validations.size(); ++i) {
    const FieldPath at = path.child("validations").index(i);
    if (trim(text_at(validations[i], {"expression"})).empty())
      errors.push_back(required(at.child("expression"), "expression is not specified"));
    check_supported(errors, validations[i], "reason", at,
                    {"Forbidden", "Invalid", "RequestEntityTooLarge"});
  }
  for (size_t i = 0; i < annotations.size(); ++i) {
    const FieldPath at = path.child("auditAnnotations").index(i);
    require_member(errors, annotations[i], "key", at);
    if (trim(text_at(annotations[i], {"valueExpression"})).empty())
      errors.push_back(required(at.child("valueExpression"), "valueExpression is not specified"));
  }
}

void check_params(FieldErrors& errors, const Json& params, const FieldPath& path) {
  const bool by_name = !text_at(params, {"name"}).empty();
  const Json* selector = find(params, "selector");
  if (by_name && selector != nullptr) {
    for (const char* member : {"name", "selector"})
      errors.push_back(forbidden(path.child(member), "name and selector are mutually exclusive"));
  } else if (!by_name && selector == nullptr) {
    errors.push_back(required(path, "one of name or selector must be specified"));
  }
  require_supported(errors, params, "parameterNotFoundAction", path, {"Allow", "Deny"});
}

void check_actions(FieldErrors& errors, const JsonArray& actions, const FieldPath& path) {
  if (actions.empty())
    errors.push_back(required(path, "at least one validation action is required"));
  std::set<std::string_view> seen;
  for (size_t i = 0; i < actions.size(); ++i) {
    check_one_of(errors, path.index(i), &actions[i], {"Audit", "Deny", "Warn"}, Presence::Required);
    if (!seen.insert(text_of(actions[i])).second)
      errors.push_back(duplicate(path.index(i), actions[i]));
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    errors.push_back(
        invalid(path, Json(actions),
                "must not contain both Deny and Warn (repeating the same validation failure "
                "information in the API response and headers serves no purpose)"));
}

}  // namespace

FieldErrors validate_webhooks(const Json& object) {
  FieldErrors errors;
  std::set<std::string_view> names;
  const JsonArray& webhooks = list_at(object, {"webhooks"});
  for (size_t i = 0; i < webhooks.size(); ++i) {
    const FieldPath path = FieldPath("webhooks").index(i);
    check_webhook(errors, webhooks[i], path);
    const std::string_view name = text_at(webhooks[i], {"name"});
    if (!name.empty() && !names.insert(name).second)
      errors.push_back(duplicate(path.child("name"), Json(name)));
  }
  return errors;
}

FieldErrors validate_admission_policy(const Json& object) {
  FieldErrors errors;
  const Json* given = find(object, "spec");
  const Json& spec = given != nullptr ? *given : none();
  const FieldPath path("spec");
  check_supported(errors, spec, "failurePolicy", path, {"Fail", "Ignore"});
  if (const Json* param = find(spec, "paramKind")) {
    for (const char* member : {"apiVersion", "kind"})
      require_member(errors, *param, member, path.child("paramKind"));
  }
  if (const Json* match = find(spec, "matchConstraints")) {
    check_matched(errors, *match, path.child("matchConstraints"));
    if (list_at(*match, {"resourceRules"}).empty())
      errors.push_back(required(path.child("matchConstraints").child("resourceRules")));
  } else {
    errors.push_back(required(path.child("matchConstraints")));
  }
  check_conditions(errors, list_at(spec, {"matchConditions"}), path.child("matchConditions"));
  const JsonArray& variables = list_at(spec, {"variables"});
  for (size_t i = 0; i < variables.size(); ++i) {
    for (const char* member : {"name", "expression"}) {
      if (trim(text_at(variables[i], {member})).empty())
        errors.push_back(required(path.child("variables").index(i).child(member),
                                  fmt::format("{} is not specified", member)));
    }
  }
  check_validations(errors, spec, path);
  return errors;
}

FieldErrors validate_admission_policy_binding(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const std::string_view policy = text_at(object, {"spec", "policyName"});
  if (policy.empty()) {
    errors.push_back(required(path.child("policyName")));
  } else {
    add_problems(errors, path.child("policyName"), policy, dns1123_subdomain_problems(policy));
  }
  if (const Json* params = find_path(object, {"spec", "paramRef"}))
    check_params(errors, *params, path.child("paramRef"));
  if (const Json* match = find_path(object, {"spec", "matchResources"}))
    check_matched(errors, *match, path.child("matchResources"));
  check_actions(errors, list_at(object, {"spec", "validationActions"}),
                path.child("validationActions"));
  return errors;
}

}  // namespace yard
