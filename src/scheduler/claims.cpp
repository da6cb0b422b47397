#include "scheduler/claims.h"

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {

std::vector<std::string> claim_names(const Json& pod) {
  std::vector<std::string> out;
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    const std::string_view name = text_at(volume, {"persistentVolumeClaim", "claimName"});
    if (!name.empty()) out.emplace_back(name);
  }
  return out;
}

PodClaims judge_claims(const std::vector<std::string>& names, const StorageLookup& find_object) {
  PodClaims out;
  for (const std::string& name : names) {
    const Json claim = find_object("PersistentVolumeClaim", name);
    if (claim.is_null()) {
      out.obstacle = fmt::format("persistentvolumeclaim {} not found", quoted(name));
      return out;
    }
    if (is_being_deleted(claim)) {
      out.obstacle = fmt::format("persistentvolumeclaim {} is being deleted", quoted(name));
      return out;
    }
    if (text_at(claim, {"status", "phase"}) == "Lost") {
      out.obstacle =
          fmt::format("persistentvolumeclaim {} bound to non-existent persistentvolume {}",
                      quoted(name), quoted(text_at(claim, {"spec", "volumeName"})));
      return out;
    }
    if (text_at(claim, {"status", "phase"}) == "Bound") continue;
    const Json storage_class =
        find_object("StorageClass", text_at(claim, {"spec", "storageClassName"}));
    if (text_at(storage_class, {"volumeBindingMode"}) == "WaitForFirstConsumer") {
      out.waiting.push_back(name);
    } else {
      out.obstacle = "pod has unbound immediate PersistentVolumeClaims";
    }
  }
  return out;
}

}  // namespace yard
