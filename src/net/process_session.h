#pragma once
// A process on one end and a client's streams on the other: exec and attach, over WebSocket or
// SPDY. Bytes wait in bounded buffers and hold their sender back. A client that leaves closes the
// process's descriptors; what that means for the process is its keeper's decision.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/process_streams.h"
#include "base/result.h"
#include "net/upgrade.h"

namespace yard {

struct ProcessEnd {
  int code = 0;
  std::string failure;  // when set there is no code: it did not start, or was lost
};

struct ProcessSession {
  bool input = false, output = false, errors = false, terminal = false;
  // Called on the I/O thread when the client is ready; answers from any thread.
  std::function<void(std::function<void(Result<ProcessStreams>)>)> start;
  std::function<std::string(const ProcessEnd&)> status;  // what the error channel says
};

void run_process_session(const Upgrade& upgrade, const std::shared_ptr<Responder>& responder,
                         ProcessSession session);

struct TerminalSize {
  int columns = 0, rows = 0;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
// The newest whole {"Width":80,"Height":24} of what has come; `text` keeps the rest, bounded.
std::optional<TerminalSize> take_terminal_size(std::string& text);

}  // namespace yard
