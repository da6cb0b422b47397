#pragma once
// Connections to ports of one machine or pod, many over one tunnel: kubectl port-forward. SPDY
// (bare or inside WebSocket) has a pair of streams for each connection; WebSocket channels have one
// connection a port, named in the request.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/upgrade.h"

namespace yard {

struct PortSession {
  std::vector<int> ports;  // for WebSocket channels
  // Called on the I/O thread, answers from any with a connected, non-blocking descriptor.
  std::function<void(int port, std::function<void(Result<int>)>)> dial;
};

void run_port_session(const Upgrade& upgrade, const std::shared_ptr<Responder>& responder,
                      PortSession session);

}  // namespace yard
