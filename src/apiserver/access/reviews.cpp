#include "apiserver/access/reviews.h"

#include "api/field_errors.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

// A review that says nothing sensible: the message has no object's name.
Error invalid_review(const FieldErrors& errors) {
  Error out = invalid_object("", "", "", errors);
  constexpr std::string_view kLead = " \"\" is invalid:";
  if (out.message.starts_with(kLead)) out.message.erase(0, 1);
  return out;
}

AccessAttributes asked_in(const Json& spec) {
  AccessAttributes out;
  if (const Json* resource = find(spec, "resourceAttributes");
      resource != nullptr && resource->is_object()) {
    out.verb = text_at(*resource, {"verb"});
    out.group = text_at(*resource, {"group"});
    out.resource = text_at(*resource, {"resource"});
    out.subresource = text_at(*resource, {"subresource"});
    out.ns = text_at(*resource, {"namespace"});
    out.name = text_at(*resource, {"name"});
    return out;
  }
  out.is_resource = false;
  out.verb = text_at(spec, {"nonResourceAttributes", "verb"});
  out.path = text_at(spec, {"nonResourceAttributes", "path"});
  return out;
}

User subject_in(const Json& spec) {
  User out;
  out.name = text_at(spec, {"user"});
  out.uid = text_at(spec, {"uid"});
  for (const Json& group : list_at(spec, {"groups"}))
    out.groups.emplace_back(text_of(group));
  return out;
}

FieldErrors problems_of(std::string_view kind, std::string_view ns, const Json& spec) {
  FieldErrors errors;
  const auto given = [&](const char* member) {
    const Json* value = find(spec, member);
    return value != nullptr && value->is_object();
  };
  if (given("resourceAttributes") == given("nonResourceAttributes")) {
    errors.push_back(invalid(FieldPath("spec.resourceAttributes"), Json(),
                             "exactly one of nonResourceAttributes or resourceAttributes must be "
                             "specified"));
  }
  if (kind != "SelfSubjectAccessReview" && text_at(spec, {"user"}).empty() &&
      list_at(spec, {"groups"}).empty()) {
    errors.push_back(invalid(FieldPath("spec.user"), Json(""),
                             "at least one of user or group must be specified"));
  }
  if (kind == "LocalSubjectAccessReview") {
    if (given("nonResourceAttributes")) {
      errors.push_back(invalid(FieldPath("spec.nonResourceAttributes"), Json(),
                               "disallowed on this kind of request"));
    } else if (text_at(spec, {"resourceAttributes", "namespace"}) != ns) {
      errors.push_back(invalid(FieldPath("spec.resourceAttributes.namespace"),
                               Json(text_at(spec, {"resourceAttributes", "namespace"})),
                               "must match metadata.namespace"));
    }
  }
  return errors;
}

}  // namespace

Result<Json> access_review_status(std::string_view kind, std::string_view ns, const Json& review,
                                  const AccessRules& rules, const User& asker) {
  const Json* given = find(review, "spec");
  const Json spec = given != nullptr ? *given : Json(JsonObject());
  if (const FieldErrors errors = problems_of(kind, ns, spec); !errors.empty())
    return invalid_review(errors);
  const AccessDecision decision =
      decide(rules, kind == "SelfSubjectAccessReview" ? asker : subject_in(spec), asked_in(spec));
  JsonObject status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  return Json(std::move(status));
}

Result<Json> rules_review_status(const Json& review, const AccessRules& rules, const User& asker) {
  const std::string_view ns = text_at(review, {"spec", "namespace"});
  if (ns.empty()) return error(Reason::BadRequest, "no namespace on request");
  JsonArray resource_rules, path_rules;
  const auto add = [&](const PolicyRule& rule) {
    (rule.non_resource_urls.empty() ? resource_rules : path_rules).push_back(to_json(rule));
  };
  if (asker.is_admin()) {
    add({{"*"}, {"*"}, {"*"}, {}, {}});
    add({{"*"}, {}, {}, {}, {"*"}});
  }
  std::vector<std::string> problems;
  for (const PolicyRule& rule : rules_of(rules, asker, ns, &problems))
    add(rule);
  JsonObject status{{"resourceRules", std::move(resource_rules)},
                    {"nonResourceRules", std::move(path_rules)},
                    {"incomplete", false}};
  if (!problems.empty()) status["evaluationError"] = join(problems, ", ");
  return Json(std::move(status));
}

Json user_info(const User& user) {
  JsonObject out;
  if (!user.name.empty()) out["username"] = user.name;
  if (!user.uid.empty()) out["uid"] = user.uid;
  JsonArray groups;
  for (const std::string& group : user.groups)
    groups.emplace_back(group);
  if (!groups.empty()) out["groups"] = std::move(groups);
  JsonObject extra;
  for (const auto& [name, values] : user.extra) {
    JsonArray list;
    for (const std::string& value : values)
      list.emplace_back(value);
    extra[name] = std::move(list);
  }
  if (!extra.empty()) out["extra"] = std::move(extra);
  return out;
}

}  // namespace yard
