#pragma once
// The process that shims are born of (node/shim/template.h): started with the first pod, again when
// it was killed, and gone with us. To load a program for each pod instead took half a millisecond
// of its start.

#include <mutex>
#include <string>

#include "base/result.h"
#include "node/network/pod_network.h"

namespace yard {

class ShimTemplate {
 public:
  // `shim` is the path of the installed executable.
  ShimTemplate(std::string shim, std::string state_folder);
  ~ShimTemplate();
  ShimTemplate(const ShimTemplate&) = delete;

  // A new shim, our child; its pid. It takes copies of the descriptors. Blocking, of any thread.
  Result<int> start(const std::string& run_folder, const std::string& log, int connection,
                    const PodNamespaces& namespaces);

 private:
  Result<void> open();
  void end();
  Result<int> ask(const std::string& text, const std::vector<int>& descriptors);
  Result<std::string> receive(int flags) const;
  bool note_spare(std::string_view said);  // whether it was about one

  const std::string shim_, state_;
  std::mutex mutex_;
  int socket_ = -1, child_ = 0;
  int spare_ = 0;  // a shim forked ahead, as far as the template has told
};

}  // namespace yard
