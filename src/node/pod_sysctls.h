#pragma once
// The kernel's settings that a pod asks for: those of its own namespaces which harm nobody else are
// set for it, others are refused, in the words of a kubelet that allows no more. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace yard {

inline constexpr std::string_view kSysctlForbidden = "SysctlForbidden";  // the reason

// Why the pod may not run here; nullopt: it may.
std::optional<std::string> sysctl_refusal(const Json& pod);

// Of a pod that may: files below /proc/sys and what is written there.
std::vector<std::pair<std::string, std::string>> pod_sysctls(const Json& pod);

}  // namespace yard
