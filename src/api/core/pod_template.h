#pragma once
// The pod template inside Jobs, CronJobs, PodTemplates and training jobs: one set of defaults and
// one validation for all of them, and for Pods themselves.

#include <string>
#include <vector>

#include "api/field_errors.h"

namespace yard {

// What the API server fills in on decode (api-machinery 3.7). A real Pod gets a little more than a
// template: service links, requests from limits, host ports.
void set_pod_spec_defaults(JsonObject& spec, bool is_pod);
// The same for the member `template` of `parent`, made where it is missing.
void set_pod_template_defaults(JsonObject& parent);

FieldErrors validate_pod_spec(const Json& spec, const FieldPath& path);
FieldErrors validate_pod_template(const Json& pod_template, const FieldPath& path);

// Texts for Warning headers: what is accepted and will surprise.
std::vector<std::string> pod_spec_warnings(const Json& spec, const FieldPath& path);

}  // namespace yard
