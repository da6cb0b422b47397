#include "node/sandbox/sysctls.h"

#include <cerrno>
#include <string.h>

#include "node/sandbox/network.h"
#include "node/shim/files.h"

namespace shim {

std::vector<std::string> set_sysctls(const Pod& pod, bool own_ipc) {
  std::vector<std::string> refusals;
  for (const auto& [file, text] : pod.sysctls) {
    // Where a namespace is missing, the setting would be the machine's.
    const bool ours = file.compare(0, 4, "net/") == 0 ? is_network_own() : own_ipc;
    if (!ours) {
      refusals.push_back("cannot set " + file + ": the pod has no namespace of its own for it");
    } else if (!write_file(("/proc/sys/" + file).c_str(), text)) {
      refusals.push_back("cannot set " + file + " to " + text + ": " + strerror(errno));
    }
  }
  return refusals;
}

}  // namespace shim
