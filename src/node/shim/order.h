#pragma once
// What a server asks of the shim in one message on its socket: a verb, a container (or an address)
// and up to two numbers, with spaces between. The command of an `exec` comes in a file with it.

#include <string>
#include <string_view>
#include <vector>

namespace shim {

struct Order {
  int words = 0;  // how many of the four could be read
  std::string verb, container;
  int number = 0, signal = 0;
};

// Reading ends at the first word that does not fit: too long, or no whole number that an int holds.
Order read_order(std::string_view message);

struct CommandRequest {
  std::vector<std::string> argv;
  bool terminal = false;
  bool kill_when_left = false;  // the caller's end kills it; otherwise it gets SIGHUP
};

// Of JSON. An empty text is success.
std::string read_command(std::string_view text, CommandRequest& request);

}  // namespace shim
