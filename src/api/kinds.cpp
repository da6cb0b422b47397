#include "api/kinds.h"

#include <algorithm>

#include "api/tables.h"
#include "api/training/training_kind.h"
#include "base/strings.h"

namespace yard {

const Subresource* Kind::subresource(std::string_view name) const {
  auto found = std::ranges::find(subresources, name, &Subresource::name);
  return found == subresources.end() ? nullptr : &*found;
}

bool Kind::allows(std::string_view verb) const {
  return std::ranges::find(verbs, verb) != verbs.end();
}

std::vector<std::string> all_verbs() {
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

Subresource status_subresource() {
  return Subresource{.name = "status",
                     .kind = "",
                     .group = "",
                     .version = "",
                     .verbs = {"get", "patch", "update"}};
}

Kind ordinary_kind(const KindNames& names) {
  Kind row;
  row.group = names.group;
  row.version = names.version;
  row.kind = names.kind;
  row.list_kind = row.kind + "List";
  row.plural = names.plural;
  row.singular = lower(names.kind);
  row.verbs = all_verbs();
  row.storage = row.group_resource();
  row.columns = default_columns();
  row.cells = default_cells;
  std::string_view group = row.group.empty() ? "core" : std::string_view(row.group);
  std::string schema_name(group.substr(0, group.find('.')));
  row.schema = builtin_schemas().find(schema_name + "." + row.version + "." + row.kind);
  return row;
}

const std::vector<KindPtr>& builtin_kinds() {
  // Core by plural, then the groups in the order upstream's discovery has them.
  static const std::vector<KindPtr> kinds = [] {
    std::vector<KindPtr> made;
    for (Kind (*row)() : {
             config_map_kind,
             endpoints_kind,
             event_kind,
             limit_range_kind,
             namespace_kind,
             node_kind,
             persistent_volume_claim_kind,
             persistent_volume_kind,
             pod_kind,
             pod_template_kind,
             replication_controller_kind,
             resource_quota_kind,
             secret_kind,
             service_account_kind,
             service_kind,
             api_service_kind,
             controller_revision_kind,
             daemon_set_kind,
             deployment_kind,
             replica_set_kind,
             stateful_set_kind,
             events_event_kind,
             self_subject_review_kind,
             token_review_kind,
             local_subject_access_review_kind,
             self_subject_access_review_kind,
             self_subject_rules_review_kind,
             subject_access_review_kind,
             horizontal_pod_autoscaler_kind,
             horizontal_pod_autoscaler_v1_kind,
             cron_job_kind,
             job_kind,
             certificate_signing_request_kind,
             ingress_class_kind,
             ingress_kind,
             network_policy_kind,
             pod_disruption_budget_kind,
             cluster_role_binding_kind,
             cluster_role_kind,
             role_binding_kind,
             role_kind,
             csi_driver_kind,
             csi_node_kind,
             csi_storage_capacity_kind,
             storage_class_kind,
             volume_attachment_kind,
             mutating_webhook_configuration_kind,
             validating_admission_policy_binding_kind,
             validating_admission_policy_kind,
             validating_webhook_configuration_kind,
             custom_resource_definition_kind,
             priority_class_kind,
             lease_kind,
             endpoint_slice_kind,
             runtime_class_kind,
             flow_schema_kind,
             priority_level_configuration_kind,
         }) {
      made.push_back(std::make_shared<const Kind>(row()));
    }
    for (Kind& row : training_rows())
      made.push_back(std::make_shared<const Kind>(std::move(row)));
    return made;
  }();
  return kinds;
}

}  // namespace yard
