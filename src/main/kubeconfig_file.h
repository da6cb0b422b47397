#pragma once
// Kubeconfigs as files of the user's: found, merged, written.

#include <filesystem>
#include <string>

#include "base/result.h"
#include "main/state_folder.h"

namespace yard {

namespace fs = std::filesystem;

// The file kubectl would write: the first of $KUBECONFIG, else ~/.kube/config. Links are followed,
// so that a link into a folder of dotfiles stays one.
Result<fs::path> kubectl_file();
// Whole or not at all, for its owner only.
Result<void> write_whole(const fs::path& path, const std::string& content);
// Puts the entries of the kubeconfig `own` into the file; answers what was done, to be printed.
Result<std::string> merge_into(const fs::path& path, const StateFolder& folder,
                               const std::string& own);

}  // namespace yard
