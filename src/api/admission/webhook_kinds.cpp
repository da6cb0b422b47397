// admissionregistration.k8s.io/v1. Stored and listed; no webhook is called and no policy evaluated.

#include "api/admission/admission_rules.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tree.h"

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
  row.validate = validate_admission_policy;
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
  row.validate = validate_admission_policy_binding;
  make_inert(row, "Trainyard keeps this object but evaluates no admission policies", false);
  return row;
}

}  // namespace yard
