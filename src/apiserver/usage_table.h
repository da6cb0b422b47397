#pragma once
// What pods and nodes use as clients print it: the Table of metrics.k8s.io, as metrics-server makes
// it. Pure.

#include <string>
#include <string_view>

#include "apiserver/representation.h"
#include "base/time.h"
#include "json/json.h"

namespace yard {

std::string window_text(Duration window);  // as Go prints it: 10s, 10.062s, 800ms

// `metrics` are whole PodMetrics or NodeMetrics; the columns are the resources of the first.
Json usage_table(const JsonArray& metrics, const Rendering& rendering);

}  // namespace yard
