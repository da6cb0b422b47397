#pragma once
// The logs of pods that are gone, read from the state folder's own files:
// <state>/logs/<namespace>_<pod>_<uid>/<container>/<run>.log, and beside them pod.json, which names
// the owner.

#include <string>
#include <vector>

#include "cli/logs.h"

namespace yard {

// Those of a pod of that name, or of pods whose owner had it.
std::vector<ArchivedLog> archived_logs(const std::string& state_folder,
                                       const std::string& name_space, const std::string& name);

}  // namespace yard
