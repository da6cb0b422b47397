#pragma once
// The judgements `why` is made of. Only why.cpp and its neighbours include this.

#include <optional>

#include "cli/why.h"

namespace yard {

// A pod's own trouble; nullopt when it is well or merely part of what its owner says.
std::optional<Finding> pod_finding(const WhyWorld& world, const Json& pod);
// `pod/train-0 -n research`; without the flag in the default namespace.
std::string argument_of(const Json& object);

}  // namespace yard
