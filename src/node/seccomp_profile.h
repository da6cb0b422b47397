#pragma once
// Profiles that the machine's owner wrote (securityContext.seccompProfile of type Localhost): JSON
// as OCI's runtime specification and docker have it, from <state>/seccomp.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "node/seccomp.h"

namespace yard {

// The profile as a filter for a container that holds these capabilities. Names of calls that this
// machine lacks are passed over, as runtimes do; calls by another machine's numbers fail whatever
// `architectures` says. Pure.
Result<std::vector<FilterStep>> profile_filter(const Json& profile, uint64_t capabilities);

// The text of a profile by its name below `folder`, which it may not leave. Blocking, small.
Result<std::string> read_profile(const std::string& folder, std::string_view name);

}  // namespace yard
