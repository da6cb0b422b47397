#pragma once
// What a pod asks for as a whole (kubernetes-core C4).

#include <map>
#include <string>
#include <string_view>

#include "api/meta/quantity.h"
#include "json/json.h"

namespace yard {

using Amounts = std::map<std::string, Quantity, std::less<>>;

Amounts amounts_of(const Json* quantities);  // {"cpu": "1"}; what does not parse is left out

// `list` is "requests" or "limits": app containers and sidecars together, or the hungriest init
// container, whichever is more; then pod-level values; then overhead.
Amounts pod_amounts(const Json& spec, std::string_view list);

std::string_view qos_class(const Json& spec);  // Guaranteed, Burstable, BestEffort

}  // namespace yard
