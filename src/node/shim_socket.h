#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace yard {

// To `sock` in a folder, through the folder's descriptor: its path may be longer than a socket's
// address can be. -1: nobody listens.
int connect_to_socket_in(const std::string& folder, int type);

// A connection to the shim of that run folder; -1 when none holds the folder's journal.
int connect_to_shim(const std::string& run_folder, bool blocking);

struct ShimMessage {
  std::string text;  // empty: the other side has closed
  Descriptor descriptor;
};
// The descriptors stay the caller's.
Result<void> send_to_shim(int socket, const std::string& text, const std::vector<int>& descriptors);
std::optional<ShimMessage> receive_from_shim(int socket);  // nullopt: nothing there yet

}  // namespace yard
