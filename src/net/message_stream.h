#pragma once
// The body of a long answer as WebSocket messages instead of chunks, for clients in browsers: logs
// as binary ones, watch events as text. What the client says is ignored, but for its leaving.

#include <memory>

#include "net/http.h"
#include "net/tunnel.h"
#include "net/upgrade.h"

namespace yard {

std::shared_ptr<HttpStream> stream_messages(const Upgrade& upgrade,
                                            const std::shared_ptr<Responder>& responder,
                                            MessageForm form = MessageForm::Binary);

}  // namespace yard
