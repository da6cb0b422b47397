#pragma once
#include <cstdint>
#include <string_view>

#include "json/json.h"

namespace yard {

// Which capabilities root has in a container: the runtimes' usual set without mknod (a pod has no
// device rules to hold it back), plus and minus what the YAML says; all of them when privileged. A
// mask by the kernel's numbers. Pure.
uint64_t container_capabilities(const Json& container);

// The bit of CAP_CHOWN or CHOWN, ...; 0: there is no such capability.
uint64_t capability_bit(std::string_view name);

}  // namespace yard
