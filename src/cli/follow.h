#pragma once
// Follows objects to their end: the merged logs of all their pods on standard output, each line
// with its rank; changes of state on standard error. Streams are read by threads of their own,
// which only queue what they hear; everything else happens on the caller's thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/requests.h"
#include "cli/workload.h"

namespace yard {

// The machine as the following commands need it.
struct FollowWorld {
  // A connection for each stream: a connection carries one at a time.
  std::function<std::unique_ptr<ServerConnection>()> connect;
  std::function<Time()> now;
  // `told` is called, on any thread, when someone presses Ctrl-C or ends us.
  std::function<void(std::function<void()> told)> on_interrupt;
  bool shows_progress = false;  // standard error is a terminal: one line there is kept up to date
  int columns = 80;             // of that terminal
};

struct FollowOptions {
  bool shows_states = true;   // changes of pods, elapsed time
  bool waits_for_end = true;  // false: logs of what there is now are enough
  std::string container;      // "": all
  std::string tail_lines;     // of each container; "": all
  bool timestamps = false;
};

// How one object ended.
struct Followed {
  enum class End { Open, Finished, Deleted };
  End end = End::Open;
  Standing standing;
  Json object;        // as it was seen last
  Duration length{};  // from the beginning of the following
};
struct FollowResult {
  std::vector<Followed> objects;  // in the order given
  bool interrupted = false;
  std::string lost;  // why nothing more can be heard of the server; "": it was heard to the end
};

// Until each has ended and its logs are read, or someone interrupts.
FollowResult follow(Session& session, const std::vector<ResourceType>& types,
                    const std::vector<NamedObject>& roots, const FollowWorld& world,
                    const FollowOptions& options);

// A line of a container as it is shown: its rank before it; what a carriage return would have
// overwritten is left out.
struct LogPrefix {
  std::string rank;
  int width = 0;    // of the longest rank so far
  int colour = -1;  // which of the few; below 0: none
};
std::string prefixed_line(const LogPrefix& prefix, std::string_view line);

// 7s, 1m05s, 2h03m: how long something has taken.
std::string elapsed_text(Duration length);

// Cut to so many columns of a terminal.
std::string shortened(std::string_view text, int columns);

}  // namespace yard
