#pragma once
// Pods that only show what runs without them: a node made them for itself, so nothing starts, ends
// or charges for them.

#include "api/object.h"

namespace yard {

inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

// The annotation alone makes no mirror: its node must own it, as the kubelet has it.
bool is_mirror_pod(const Json& pod);
bool is_mirror_pod(const Object& pod);  // parses only what a Node owns

}  // namespace yard
