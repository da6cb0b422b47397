#pragma once
// Which container of a pod a request means: log, exec, attach.

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/json.h"

namespace yard {

// The one asked for, or the only one; BadRequest in kubectl's words.
Result<std::string> chosen_container(const Json& pod, std::string_view pod_name,
                                     std::string_view asked);
const Json* container_status(const Json& pod, std::string_view container);  // null: none yet

}  // namespace yard
