#pragma once
// `trainyard image pull`: a registry's image into the store of this machine.

#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/terminal.h"
#include "images/registry/registry.h"
#include "images/store.h"

namespace yard {

struct ImagePullOptions {
  std::vector<std::string> names;
  bool is_quiet = false;
  bool rewrites_line = false;  // standard error is a terminal
};
int pull_images(Terminal& terminal, ImageStore& store, RegistrySetup setup,
                const ImagePullOptions& options);

}  // namespace yard
