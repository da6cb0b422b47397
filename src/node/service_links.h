#pragma once
// The variables that name the Services of a pod's namespace in its environment
// (FOO_SERVICE_HOST, FOO_PORT_80_TCP_ADDR ...). Pure.

#include <string_view>
#include <vector>

#include "json/json.h"
#include "node/environment.h"

namespace yard {

// Of one Service at an address; `ports` as in its spec.
Environment service_variables(std::string_view name, std::string_view address,
                              const JsonArray& ports);

// Of all that have an address, in the order given; whole objects.
Environment service_links(const std::vector<Json>& services);

}  // namespace yard
