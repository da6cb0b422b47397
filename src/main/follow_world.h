#pragma once
// The machine as run, logs and wait see it: connections, the clock, Ctrl-C, the terminal's width.

#include "cli/follow.h"
#include "main/state_folder.h"

namespace yard {

// Call it before any thread is begun: it blocks SIGINT and SIGTERM, which a thread of its own then
// waits for.
FollowWorld follow_world(const StateFolder& folder);
std::function<Time()> wall_clock();

}  // namespace yard
