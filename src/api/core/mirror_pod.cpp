#include "api/core/mirror_pod.h"

#include <algorithm>

#include "api/tree.h"

namespace yard {

bool is_mirror_pod(const Json& pod) {
  if (text_at(pod, {"metadata", "annotations", kMirrorAnnotation}).empty()) return false;
  return std::ranges::any_of(list_at(pod, {"metadata", "ownerReferences"}), [](const Json& owner) {
    return text_at(owner, {"kind"}) == "Node" && text_at(owner, {"apiVersion"}) == "v1";
  });
}

bool is_mirror_pod(const Object& pod) {
  if (!pod.has_owners()) return false;
  const std::vector<OwnerRef> owners = pod.owners();
  const bool of_node =
      std::ranges::any_of(owners, [](const OwnerRef& owner) { return owner.kind == "Node"; });
  return of_node && is_mirror_pod(pod.tree());
}

}  // namespace yard
