// admissionregistration.k8s.io/v1. Stored and listed; no webhook is called and no policy evaluated.

#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/tables.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

void set_scopes(JsonObject& parent, const char* member) {
  Json* rules = parent.if_contains(member);
  if (rules == nullptr || !rules->is_array()) return;
  for (Json& rule : rules->get_array()) {
    if (rule.is_object()) set_missing(rule.get_object(), "scope", "*");
  }
}

void set_webhook_defaults(Json& object, bool mutating) {
  Json* webhooks = find(object, "webhooks");
  if (webhooks == nullptr || !webhooks->is_array()) return;
  for (Json& each : webhooks->get_array()) {
    if (!each.is_object()) continue;
    JsonObject& webhook = each.get_object();
    set_missing(webhook, "failurePolicy", "Fail");
    set_missing(webhook, "matchPolicy", "Equivalent");
    set_missing(webhook, "namespaceSelector", JsonObject());
    set_missing(webhook, "objectSelector", JsonObject());
    set_missing(webhook, "timeoutSeconds", 10);
    if (mutating) set_missing(webhook, "reinvocationPolicy", "Never");
    if (Json* service = find_path(each, {"clientConfig", "service"});
        service != nullptr && service->is_object())
      set_missing(service->get_object(), "port", 443);
    set_scopes(each.get_object(), "rules");
  }
}

void check_client(FieldErrors& errors, const Json& webhook, const FieldPath& path) {
  const bool has_url = !text_at(webhook, {"clientConfig", "url"}).empty();
  const Json* service = find_path(webhook, {"clientConfig", "service"});
  if (has_url == (service != nullptr))
    errors.push_back(required(path, "exactly one of url or service is required"));
  if (service == nullptr) return;
  require_member(errors, *service, "name", path.child("service"));
  require_member(errors, *service, "namespace", path.child("service"));
}

FieldErrors validate_webhooks(const Json& object) {
  FieldErrors errors;
  const JsonArray& webhooks = list_at(object, {"webhooks"});
  for (size_t i = 0; i < webhooks.size(); ++i) {
    const FieldPath path = FieldPath("webhooks").index(i);
    const Json& webhook = webhooks[i];
    const std::string_view name = text_at(webhook, {"name"});
    if (split(name, '.').size() < 3)
      errors.push_back(
          invalid(path.child("name"), Json(name),
                  "should be a domain with at least three segments separated by dots"));
    check_client(errors, webhook, path.child("clientConfig"));
    check_one_of(errors, path.child("sideEffects"), find(webhook, "sideEffects"),
                 {"None", "NoneOnDryRun"}, Presence::Required);
    if (list_at(webhook, {"admissionReviewVersions"}).empty())
      errors.push_back(
          required(path.child("admissionReviewVersions"), "must specify one of v1, v1beta1"));
    check_within(errors, webhook, "timeoutSeconds", path, 1, 30);
    check_supported(errors, webhook, "failurePolicy", path, {"Fail", "Ignore"});
    check_supported(errors, webhook, "matchPolicy", path, {"Equivalent", "Exact"});
  }
  return errors;
}

Kind cluster_kind(std::string_view kind, std::string_view plural) {
  Kind row = ordinary_kind({kGroup, "v1", kind, plural});
  row.namespaced = false;
  row.categories = {"api-extensions"};
  row.tracks_generation = true;
  row.allows_unconditional_update = false;
  return row;
}

Kind webhook_kind(std::string_view kind, std::string_view plural, bool mutating) {
  Kind row = cluster_kind(kind, plural);
  row.columns = webhook_configuration_columns();
  row.cells = webhook_configuration_cells;
  row.set_defaults = [mutating](Json& object) { set_webhook_defaults(object, mutating); };
  row.validate = validate_webhooks;
  make_inert(row, "Trainyard keeps this object but calls no admission webhooks", false);
  return row;
}

void set_match_defaults(JsonObject& spec, const char* member) {
  Json* match = spec.if_contains(member);
  if (match == nullptr || !match->is_object()) return;
  JsonObject& resources = match->get_object();
  set_missing(resources, "matchPolicy", "Equivalent");
  set_missing(resources, "namespaceSelector", JsonObject());
  set_missing(resources, "objectSelector", JsonObject());
  set_scopes(resources, "resourceRules");
  set_scopes(resources, "excludeResourceRules");
}

void set_policy_defaults(Json& object) {
  JsonObject& spec = section(object, "spec");
  set_missing(spec, "failurePolicy", "Fail");
  set_match_defaults(spec, "matchConstraints");
}

FieldErrors validate_policy(const Json& object) {
  FieldErrors errors;
  if (list_at(object, {"spec", "validations"}).empty() &&
      list_at(object, {"spec", "auditAnnotations"}).empty()) {
    errors.push_back(required(FieldPath("spec.validations"),
                              "validations or auditAnnotations must contain at least one item"));
  }
  if (list_at(object, {"spec", "matchConstraints", "resourceRules"}).empty())
    errors.push_back(required(FieldPath("spec.matchConstraints.resourceRules")));
  return errors;
}

FieldErrors validate_policy_binding(const Json& object) {
  FieldErrors errors;
  if (text_at(object, {"spec", "policyName"}).empty())
    errors.push_back(required(FieldPath("spec.policyName")));
  if (list_at(object, {"spec", "validationActions"}).empty())
    errors.push_back(required(FieldPath("spec.validationActions")));
  return errors;
}

}  // namespace

Kind mutating_webhook_configuration_kind() {
  return webhook_kind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", true);
}

Kind validating_webhook_configuration_kind() {
  return webhook_kind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false);
}

Kind validating_admission_policy_kind() {
  Kind row = cluster_kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
  row.subresources = {status_subresource()};
  row.columns = validating_admission_policy_columns();
  row.cells = validating_admission_policy_cells;
  row.set_defaults = set_policy_defaults;
  row.validate = validate_policy;
  make_inert(row, "Trainyard keeps this object but evaluates no admission policies", true);
  return row;
}

Kind validating_admission_policy_binding_kind() {
  Kind row = cluster_kind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
  row.columns = validating_admission_policy_binding_columns();
  row.cells = validating_admission_policy_binding_cells;
  row.set_defaults = [](Json& object) {
    set_match_defaults(section(object, "spec"), "matchResources");
  };
  row.validate = validate_policy_binding;
  make_inert(row, "Trainyard keeps this object but evaluates no admission policies", false);
  return row;
}

}  // namespace yard
