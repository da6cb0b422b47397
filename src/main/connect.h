#pragma once
// The owner's way to the server of a state folder: its Unix socket.

#include <functional>

#include "cli/requests.h"
#include "main/commands.h"

namespace yard {

std::unique_ptr<ServerConnection> connect_to(const StateFolder& folder);

// A terminal on standard output and error; colours only where a person reads and NO_COLOR is not
// set.
Terminal standard_terminal();

// Runs a command against the control plane of the program's state folder.
int with_session(const Program& program, const std::function<int(Session&)>& command);

// `-n`, shared by the commands that work on objects. Answers the option, to ask whether it was
// given.
CLI::Option* add_namespace_flag(CLI::App* command, std::string& name_space);

}  // namespace yard
