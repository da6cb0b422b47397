#pragma once
// How a client asks to leave HTTP, and what it is answered: WebSocket or SPDY/3.1, and a protocol
// both sides speak.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace yard {

struct Upgrade {
  enum class Wire { WebSocket, Spdy, SpdyInWebSocket };
  Wire wire = Wire::WebSocket;
  std::string protocol;  // "" when a WebSocket client names none
  Headers headers;       // of the 101
};

struct UpgradeOffer {
  std::span<const std::string_view> websocket, spdy;  // what we speak over each
};
// BadRequest when it is no upgrade, Forbidden when there is no common protocol.
Result<Upgrade> choose_upgrade(const HttpRequest& request, const UpgradeOffer& offer);

}  // namespace yard
