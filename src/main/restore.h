#pragma once
// A backup put into an empty state folder, before its server opens it.

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "main/state_folder.h"

namespace yard {

// Present until the new server has settled what the backup says and is no longer so.
inline constexpr std::string_view kRestoredMark = "restored";

Result<void> restore_into(const StateFolder& folder, const std::string& backup, Time now);

}  // namespace yard
