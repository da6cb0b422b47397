#pragma once
// The process that pulls one image for the server: an order on its standard input, lines of JSON on
// its standard output ({"type": "progress" | "done" | "error", …}).

#include <string>

namespace yard {

int run_pull_worker(const std::string& state_folder);

}  // namespace yard
