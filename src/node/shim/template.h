#pragma once
// Shims are born of a template: a process of this program that has nothing to do but fork, so that
// a pod's start waits for no program to be loaded. `trainyard-template PLACE FD`; the server asks
// over the descriptor, and with it the template ends.
//
//   server: <run folder>\n<file for complaints>\n<which of net, island, user come along, as 0 and
//   1>
//           with the pod's first connection and those descriptors
//   template: <the shim's pid>, or "failed <why>"; at any time "spare <pid>", of a shim that it has
//   forked ahead: the next pod's, and gone with the template

#include <string>

#include "node/sandbox/network.h"

namespace shim {

struct Birth {
  std::string run_folder;
  int connection = -1;
  NetworkDescriptors network;
  int born_before = -1;  // of the same template; -1: it has none
};

// Returns in each new shim, a child of the template's own parent, with true; with false in the
// template when the server is gone. `arguments` are main's: each shim shows its own folder there.
bool bear_shims(int count, char** arguments, Birth& birth);

}  // namespace shim
