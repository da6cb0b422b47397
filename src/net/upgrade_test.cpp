#include "net/upgrade.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

constexpr std::string_view kWebSocket[] = {"v5.channel.k8s.io", "v4.channel.k8s.io",
                                           "SPDY/3.1+portforward.k8s.io"};
constexpr std::string_view kSpdy[] = {"v4.channel.k8s.io"};

std::string chosen(std::string method, Headers headers) {
  HttpRequest request;
  request.method = std::move(method);
  request.headers = std::move(headers);
  const auto upgrade = choose_upgrade(request, {kWebSocket, kSpdy});
  if (!upgrade)
    return std::to_string(http_code(upgrade.error().reason)) + " " + upgrade.error().message;
  const char* wires[] = {"websocket ", "spdy ", "spdy in websocket "};
  return wires[static_cast<int>(upgrade->wire)] + upgrade->protocol;
}

TEST(Upgrade, the_first_protocol_of_the_client_that_we_speak_is_chosen) {
  const Headers socket{{"Connection", "keep-alive, Upgrade"},
                       {"Upgrade", "websocket"},
                       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                       {"Sec-WebSocket-Version", "13"}};
  const Headers spdy{{"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}};
  const auto with = [](Headers headers, const char* name, std::vector<const char*> values) {
    for (const char* value : values)
      headers.emplace_back(name, value);
    return headers;
  };
  const struct {
    const char* about;
    const char* method;
    Headers headers;
    const char* answer;
  } cases[] = {
      {"kubectl 1.30 and later", "GET",
       with(socket, "Sec-WebSocket-Protocol", {"v5.channel.k8s.io"}),
       "websocket v5.channel.k8s.io"},
      {"the Python client", "GET", with(socket, "sec-websocket-protocol", {"v4.channel.k8s.io"}),
       "websocket v4.channel.k8s.io"},
      {"a list in one header", "GET",
       with(socket, "Sec-WebSocket-Protocol", {"v9.channel.k8s.io, v4.channel.k8s.io"}),
       "websocket v4.channel.k8s.io"},
      {"no protocol", "GET", socket, "websocket "},
      {"port-forward of kubectl 1.31", "GET",
       with(socket, "Sec-WebSocket-Protocol", {"SPDY/3.1+portforward.k8s.io"}),
       "spdy in websocket SPDY/3.1+portforward.k8s.io"},
      {"kubectl up to 1.29", "POST",
       with(spdy, "X-Stream-Protocol-Version", {"v9.channel.k8s.io", "v4.channel.k8s.io"}),
       "spdy v4.channel.k8s.io"},
      {"nothing in common", "POST", with(spdy, "X-Stream-Protocol-Version", {"v9"}),
       "403 unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts "
       "[v4.channel.k8s.io]"},
      {"our own client, which asks to create an exec", "POST", socket, "websocket "},
      {"a PUT is no WebSocket handshake", "PUT", socket,
       "400 unable to upgrade: not a WebSocket handshake"},
      {"an ordinary request", "GET", {}, "400 Upgrade request required"},
      {"an upgrade to something else",
       "GET",
       {{"Connection", "Upgrade"}, {"Upgrade", "h2c"}},
       "400 Upgrade request required"},
  };
  for (const auto& each : cases)
    EXPECT_EQ(chosen(each.method, each.headers), each.answer) << each.about;
}

}  // namespace
}  // namespace yard
