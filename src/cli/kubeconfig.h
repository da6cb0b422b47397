#pragma once
// Trainyard's entries in a kubeconfig that others use too.

#include <string>

#include "base/result.h"
#include "json/json.h"

namespace yard {

struct MergedKubeconfig {
  Json config;
  bool is_changed = false;       // false: everything stood there already
  bool is_replaced = false;      // entries of the same names gave way to ours
  std::string previous_context;  // current-context before; "" when there was none
};

// Puts the clusters, users and contexts of `ours` into `existing` (null for a file not there yet)
// by their names and makes our context the current one; whatever else stands there stays.
Result<MergedKubeconfig> merged_kubeconfig(const Json& existing, const Json& ours);

}  // namespace yard
