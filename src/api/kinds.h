#pragma once
// One function a kind, each in its own small file under its group's folder. Adding a kind: a line
// of schema, a file with its function, a line here and in kinds.cpp.

#include "api/kind.h"

namespace yard {

// core
Kind namespace_kind();
Kind config_map_kind();
Kind secret_kind();
Kind pod_kind();
Kind pod_template_kind();
Kind event_kind();  // core/v1
Kind service_kind();
Kind endpoints_kind();
Kind node_kind();
Kind service_account_kind();
Kind persistent_volume_kind();
Kind persistent_volume_claim_kind();
Kind resource_quota_kind();
Kind limit_range_kind();
// other groups
Kind job_kind();
Kind cron_job_kind();
Kind events_event_kind();  // events.k8s.io/v1, a view of the same storage
Kind endpoint_slice_kind();
Kind lease_kind();
Kind priority_class_kind();
Kind storage_class_kind();
Kind custom_resource_definition_kind();
Kind role_kind();
Kind cluster_role_kind();
Kind role_binding_kind();
Kind cluster_role_binding_kind();
// stored and listed only (api/inert.h)
Kind deployment_kind();
Kind replica_set_kind();
Kind stateful_set_kind();
Kind daemon_set_kind();
Kind controller_revision_kind();
Kind pod_disruption_budget_kind();
Kind network_policy_kind();
Kind ingress_kind();
Kind ingress_class_kind();
Kind mutating_webhook_configuration_kind();
Kind validating_webhook_configuration_kind();
Kind validating_admission_policy_kind();
Kind validating_admission_policy_binding_kind();
Kind horizontal_pod_autoscaler_kind();
Kind horizontal_pod_autoscaler_v1_kind();  // a view of the same storage
void to_autoscaler_v1(Json& object);
void to_autoscaler_v2(Json& object);
Kind replication_controller_kind();
Kind runtime_class_kind();
Kind flow_schema_kind();
Kind priority_level_configuration_kind();
Kind csi_driver_kind();
Kind csi_node_kind();
Kind csi_storage_capacity_kind();
Kind volume_attachment_kind();
// as far as they can be true here
Kind certificate_signing_request_kind();
Kind api_service_kind();
// asked, not stored
Kind token_review_kind();
Kind self_subject_review_kind();
Kind subject_access_review_kind();
Kind self_subject_access_review_kind();
Kind self_subject_rules_review_kind();
Kind local_subject_access_review_kind();

// Shared by the kinds: verbs of an ordinary kind, the status subresource.
std::vector<std::string> all_verbs();
Subresource status_subresource();

// A row with all that follows from the names: list kind, singular, verbs, storage, schema, default
// table.
struct KindNames {
  std::string_view group, version, kind, plural;
};
Kind ordinary_kind(const KindNames& names);

}  // namespace yard
