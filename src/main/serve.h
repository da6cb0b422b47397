#pragma once
#include <signal.h>
#include <string>

#include "main/state_folder.h"
#include "node/node_object.h"

namespace yard {

struct ServeOptions {
  std::string address;  // empty: the config file's, else 127.0.0.1
  int port = -1;      // below 0: the config file's; 0: the one kept from last time, else a free one
  int ready_fd = -1;  // told when the server answers, or why it cannot
  NodeOptions node;   // this machine as a node
  std::string restore = {};  // a backup to start from, into an empty folder
};

// Ends the pods first, as a node that shuts down; SIGTERM leaves them running.
constexpr int kShutDownSignal = SIGUSR1;

// Runs the control plane in the foreground until SIGTERM, SIGINT or kShutDownSignal. Answers the
// exit code.
int serve(StateFolder folder, const ServeOptions& options);

}  // namespace yard
