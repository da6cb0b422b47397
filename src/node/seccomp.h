#pragma once
// Which system calls a container may make. The filter is compiled here, once a container, and
// handed to the shim as bytes: the shim knows nothing of system calls.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace yard {

// One instruction of the kernel's packet filter machine, laid out as struct sock_filter.
struct FilterStep {
  uint16_t code = 0;
  uint8_t if_true = 0, if_false = 0;
  uint32_t operand = 0;
};

// Denies with EPERM what container runtimes deny by default; a capability opens what it is the key
// to. `capabilities` is a mask by the kernel's numbers. Pure.
std::vector<FilterStep> default_filter(uint64_t capabilities);

// The filter as the shim reads it: hexadecimal, sixteen digits an instruction.
std::string filter_text(const std::vector<FilterStep>& filter);

struct SeccompChoice {
  bool filtered = true;
  std::string file;  // of the node's profiles (seccomp_profile.h); "": our own filter
};
// securityContext.seccompProfile, the container's before the pod's; unset means our filter. Pure.
SeccompChoice seccomp_choice(const Json& pod, const Json& container);

}  // namespace yard
