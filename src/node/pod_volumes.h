#pragma once
#include "node/environment.h"
#include "node/pod_runtime.h"

namespace yard {

// The volumes of a pod (kubernetes-core C5). An error is the text after "MountVolume.SetUp failed
// for volume".
Result<std::vector<LaunchVolume>> pod_volumes(const Json& pod, const PodFactsForEnv& facts);
// Those of them that hold tokens, as they are to be now.
Result<std::vector<LaunchVolume>> token_volumes(const Json& pod, const PodFactsForEnv& facts);

}  // namespace yard
