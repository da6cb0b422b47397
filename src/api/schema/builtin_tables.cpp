#include "api/schema/builtin_tables.h"

namespace yard {
namespace {

constexpr std::string_view kTables[] = {
#include "api/schema/tables/meta_v1.types"
    ,
#include "api/schema/tables/core_v1.types"
    ,
#include "api/schema/tables/batch_v1.types"
    ,
#include "api/schema/tables/apps_v1.types"
    ,
#include "api/schema/tables/coordination_v1.types"
    ,
#include "api/schema/tables/events_v1.types"
    ,
#include "api/schema/tables/discovery_v1.types"
    ,
#include "api/schema/tables/authentication_v1.types"
    ,
#include "api/schema/tables/authorization_v1.types"
    ,
#include "api/schema/tables/policy_v1.types"
    ,
#include "api/schema/tables/rbac_v1.types"
    ,
#include "api/schema/tables/autoscaling_v1.types"
    ,
#include "api/schema/tables/autoscaling_v2.types"
    ,
#include "api/schema/tables/scheduling_v1.types"
    ,
#include "api/schema/tables/networking_v1.types"
    ,
#include "api/schema/tables/storage_v1.types"
    ,
#include "api/schema/tables/node_v1.types"
    ,
#include "api/schema/tables/certificates_v1.types"
    ,
#include "api/schema/tables/flowcontrol_v1.types"
    ,
#include "api/schema/tables/apiregistration_v1.types"
    ,
#include "api/schema/tables/apiextensions_v1.types"
    ,
#include "api/schema/tables/admissionregistration_v1.types"
    ,
#include "api/schema/tables/kubeflow_v1.types"
    ,
};

constexpr std::string_view kDescriptions =
#include "api/schema/tables/descriptions.types"
    ;

}  // namespace

std::span<const std::string_view> builtin_tables() {
  return kTables;
}

std::string_view builtin_descriptions() {
  return kDescriptions;
}

}  // namespace yard
