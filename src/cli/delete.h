#pragma once
// delete: by type and name, by label, or what files name; waits until the objects are gone.

#include <string>
#include <vector>

#include "cli/manifests.h"
#include "cli/requests.h"

namespace yard {

struct DeleteRequest {
  std::vector<std::string> words;  // TYPE NAME... or TYPE/NAME...
  ManifestSource source{};         // -f
  std::string name_space = "default";
  bool is_namespace_given = false;
  std::string label_selector{};
  bool all = false;
  std::string cascade = "background";  // background, foreground, orphan
  bool wait = true;
  bool ignore_not_found = false;
  bool dry_run = false;
};
int run_delete(Session& session, const DeleteRequest& options);

// Deletes one object with all it owns and waits until it is gone.
struct Located;
Result<void> delete_and_wait(Session& session, const Located& located);

}  // namespace yard
