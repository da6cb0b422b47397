#pragma once
// grpc.health.v1.Health/Check in as much HTTP/2 as one question needs: one stream, literal headers,
// the first message of the answer. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "node/handler_call.h"

namespace yard {

std::string grpc_health_request(const HandlerCall& call);
// What the bytes received so far say; nullopt: not yet known.
std::optional<HandlerOutcome> grpc_health_outcome(std::string_view received);

}  // namespace yard
