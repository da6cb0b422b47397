#pragma once
// Asks a program that keeps logins: `docker-credential-X get`, the registry on its standard input,
// the login as JSON on its standard output.

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "images/registry/credentials.h"
#include "net/blocking_time.h"

namespace yard {

struct HelperLimits {
  Duration patience = std::chrono::seconds(15);
  size_t most_output = 64 * 1024;
};

// Nothing when the helper has no login for the server. Blocks; the program is found along PATH,
// runs without a shell and is killed when its time is over. The child's output is in no error.
Result<std::optional<RegistryCredential>> ask_credential_helper(const HelperQuestion& question,
                                                                const BlockingTime& time,
                                                                const HelperLimits& limits = {});

}  // namespace yard
