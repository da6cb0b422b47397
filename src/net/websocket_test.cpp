#include "net/websocket.h"

#include <gtest/gtest.h>

#include "net/process_session.h"

namespace yard {
namespace {

using Side = WebSocketReader::Side;

std::string masked(WebSocketOpcode opcode, std::string_view payload) {
  return websocket_frame(opcode, {}, payload, 0x12345678u);
}

// The events as text: T|B for pieces of messages, with ^ where one begins and $ where it ends.
std::string events(std::string_view bytes, size_t step, Side side = Side::Server) {
  WebSocketReader reader(side);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    std::string_view fresh = bytes.substr(at, step);
    while (auto event = reader.next(fresh)) {
      switch (event->type) {
        case WebSocketEvent::Type::Data:
          if (event->starts_message) out += event->is_text ? "T^" : "B^";
          out += event->bytes;
          if (event->ends_message) out += "$ ";
          break;
        case WebSocketEvent::Type::Ping: out += "ping(" + event->bytes + ") "; break;
        case WebSocketEvent::Type::Pong: out += "pong "; break;
        case WebSocketEvent::Type::Close:
          out += "close(" + std::to_string(event->bytes.size()) + ") ";
          break;
        case WebSocketEvent::Type::Broken: out += "broken: " + event->bytes; break;
      }
    }
  }
  return out;
}

TEST(WebSocket, frames_of_a_client_mean_the_same_however_they_are_cut) {
  std::string fragmented = masked(WebSocketOpcode::Binary, "one ");
  fragmented[0] = '\x02';  // not the last
  std::string rest = masked(WebSocketOpcode::Binary, "message");
  rest[0] = '\x80';
  const std::string ping = masked(WebSocketOpcode::Ping, "p");
  const struct {
    const char* about;
    std::string bytes;
    std::string events;
  } cases[] = {
      {"a message", masked(WebSocketOpcode::Binary, "hello"), "B^hello$ "},
      {"an empty one", masked(WebSocketOpcode::Text, ""), "T^$ "},
      {"a long one", masked(WebSocketOpcode::Binary, std::string(70000, 'x')),
       "B^" + std::string(70000, 'x') + "$ "},
      {"of 126 bytes", masked(WebSocketOpcode::Binary, std::string(126, 'y')),
       "B^" + std::string(126, 'y') + "$ "},
      {"fragments are one message, and a ping may come between", fragmented + ping + rest,
       "B^one ping(p) message$ "},
      {"a close", masked(WebSocketOpcode::Close, "\x03\xe8"), "close(2) "},
      {"a pong", masked(WebSocketOpcode::Pong, ""), "pong "},
      {"a frame that is not masked", websocket_frame(WebSocketOpcode::Binary, {}, "x"),
       "broken: a client's frame is not masked"},
      {"a continuation of nothing", rest, "broken: a continuation without a message"},
      {"a message inside a message", fragmented + fragmented,
       "B^one broken: a message begins inside another"},
      {"reserved bits", "\xc2\x80" + std::string(4, '\0'), "broken: reserved bits are set"},
      {"an opcode nobody knows", "\x83\x80" + std::string(4, '\0'), "broken: an unknown opcode"},
      {"a long ping", masked(WebSocketOpcode::Ping, std::string(126, 'x')),
       "broken: a control frame is too long"},
      {"a length beyond all numbers", std::string("\x82\xff") + std::string(12, '\xff'),
       "broken: a frame's length is not possible"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(events(each.bytes, each.bytes.size()), each.events) << each.about;
    EXPECT_EQ(events(each.bytes, 1), each.events) << each.about << ", byte by byte";
  }
  EXPECT_EQ(events(websocket_frame(WebSocketOpcode::Binary, "a", "b"), 1, Side::Client), "B^ab$ ");
}

TEST(WebSocket, the_accept_key_is_that_of_the_rfc) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(TerminalSize, the_newest_whole_object_counts) {
  const struct {
    const char* about;
    std::string text;
    std::optional<TerminalSize> size;
    std::string left;
  } cases[] = {
      {"one", R"({"Width":80,"Height":24})", TerminalSize{80, 24}, ""},
      {"with a newline", "{\"Width\":80,\"Height\":24}\n", TerminalSize{80, 24}, "\n"},
      {"two", R"({"Width":1,"Height":1}{"Height": 3, "Width": 2})", TerminalSize{2, 3}, ""},
      {"a part", R"({"Width":80,)", std::nullopt, R"({"Width":80,)"},
      {"nonsense", "}}{", std::nullopt, "{"},
      {"zero is no size", R"({"Width":0,"Height":0})", std::nullopt, ""},
      {"too much of nothing", std::string(5000, 'x'), std::nullopt, ""},
  };
  for (const auto& each : cases) {
    std::string text = each.text;
    EXPECT_EQ(take_terminal_size(text), each.size) << each.about;
    EXPECT_EQ(text, each.left) << each.about;
  }
}

}  // namespace
}  // namespace yard
