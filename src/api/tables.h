#pragma once
// The printers: per kind its columns and the cells of one object, as kubectl shows them
// (kubernetes-core F, api-machinery 4.5). Cells are encoded by RowWriter, so ages grow without
// touching the object again.

#include <string>
#include <vector>

#include "api/kind.h"

namespace yard {

std::vector<Column> pod_columns();
std::string pod_cells(const Json& object);
std::vector<Column> job_columns();
std::string job_cells(const Json& object);
std::vector<Column> cron_job_columns();
std::string cron_job_cells(const Json& object);
std::vector<Column> service_columns();
std::string service_cells(const Json& object);
std::vector<Column> endpoints_columns();
std::string endpoints_cells(const Json& object);
std::vector<Column> endpoint_slice_columns();
std::string endpoint_slice_cells(const Json& object);
// Reads both views of an event: core and events.k8s.io.
std::vector<Column> event_columns();
std::string event_cells(const Json& object);
std::vector<Column> node_columns();
std::string node_cells(const Json& object);
std::vector<Column> namespace_columns();
std::string namespace_cells(const Json& object);
std::vector<Column> config_map_columns();
std::string config_map_cells(const Json& object);
std::vector<Column> secret_columns();
std::string secret_cells(const Json& object);
std::vector<Column> service_account_columns();
std::string service_account_cells(const Json& object);
std::vector<Column> persistent_volume_claim_columns();
std::string persistent_volume_claim_cells(const Json& object);
std::vector<Column> persistent_volume_columns();
std::string persistent_volume_cells(const Json& object);
std::vector<Column> storage_class_columns();
std::string storage_class_cells(const Json& object);
std::vector<Column> resource_quota_columns();
std::string resource_quota_cells(const Json& object);
std::vector<Column> priority_class_columns();
std::string priority_class_cells(const Json& object);
std::vector<Column> lease_columns();
std::string lease_cells(const Json& object);
std::vector<Column> custom_resource_definition_columns();
std::string custom_resource_definition_cells(const Json& object);
std::vector<Column> role_binding_columns();  // ClusterRoleBinding too
std::string role_binding_cells(const Json& object);
std::vector<Column> deployment_columns();
std::string deployment_cells(const Json& object);
std::vector<Column> replica_set_columns();
std::string replica_set_cells(const Json& object);
std::vector<Column> stateful_set_columns();
std::string stateful_set_cells(const Json& object);
std::vector<Column> daemon_set_columns();
std::string daemon_set_cells(const Json& object);
std::vector<Column> controller_revision_columns();
std::string controller_revision_cells(const Json& object);
std::vector<Column> pod_disruption_budget_columns();
std::string pod_disruption_budget_cells(const Json& object);
std::vector<Column> network_policy_columns();
std::string network_policy_cells(const Json& object);
std::vector<Column> ingress_columns();
std::string ingress_cells(const Json& object);
std::vector<Column> ingress_class_columns();
std::string ingress_class_cells(const Json& object);
std::vector<Column> webhook_configuration_columns();
std::string webhook_configuration_cells(const Json& object);
std::vector<Column> validating_admission_policy_columns();
std::string validating_admission_policy_cells(const Json& object);
std::vector<Column> validating_admission_policy_binding_columns();
std::string validating_admission_policy_binding_cells(const Json& object);
std::vector<Column> horizontal_pod_autoscaler_columns();
std::string horizontal_pod_autoscaler_cells(const Json& object);
// Kinds without a printer of their own: Name, Created At.
std::vector<Column> default_columns();
std::string default_cells(const Json& object);

}  // namespace yard
