#pragma once
// What the tests of this folder share: the Widget of api-machinery appendix C, and short ways to
// look at entries.

#include <string>
#include <string_view>

#include "api/fields.h"
#include "json/json.h"

namespace yard::fields_testing {

Json json(std::string_view text);

// spec.name string, spec.replicas integer, spec.ports list-map by p with q default "z", spec.tags
// set, spec.free preserve-unknown; status.replicas, status.conditions (atomic).
const Schema& widget_schema();
const Schema& built_in(std::string_view name);

FieldWriter writer(std::string_view manager, std::string_view api_version, int64_t seconds = 1000,
                   std::string_view subresource = "");

// "oracle Update status: {...}" for each entry, one a line; times left out.
std::string owners(const Json& object);
// fieldsV1 of the only entry of that manager and operation, as text; "none".
std::string owned(const Json& object, std::string_view manager,
                  std::string_view operation = "Update", std::string_view subresource = "");

}  // namespace yard::fields_testing
