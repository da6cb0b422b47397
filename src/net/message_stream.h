#pragma once
// The body of a long answer as binary WebSocket messages instead of chunks: logs, for clients in
// browsers. What the client says is ignored, but for its leaving.

#include <memory>

#include "net/http.h"
#include "net/upgrade.h"

namespace yard {

std::shared_ptr<HttpStream> stream_messages(const Upgrade& upgrade,
                                            const std::shared_ptr<Responder>& responder);

}  // namespace yard
