#include "apiserver/pod_containers.h"

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {

Result<std::string> chosen_container(const Json& pod, std::string_view pod_name,
                                     std::string_view asked) {
  std::vector<std::string> names;
  for (const Json& container : list_at(pod, {"spec", "containers"}))
    names.emplace_back(text_at(container, {"name"}));
  if (asked.empty()) {
    if (names.size() == 1) return names.front();
    return error(Reason::BadRequest,
                 fmt::format("a container name must be specified for pod {}, choose one of: [{}]",
                             pod_name, join(names, " ")));
  }
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      if (text_at(container, {"name"}) == asked) return std::string(asked);
    }
  }
  return error(Reason::BadRequest,
               fmt::format("container {} is not valid for pod {}", asked, pod_name));
}

const Json* container_status(const Json& pod, std::string_view container) {
  for (const char* list :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    for (const Json& status : list_at(pod, {"status", list})) {
      if (text_at(status, {"name"}) == container) return &status;
    }
  }
  return nullptr;
}

}  // namespace yard
