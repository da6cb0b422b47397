#pragma once
// WebSocket frames (RFC 6455) as values: what a client's bytes mean, and the bytes of ours. Pieces
// of a message are handed on as they come; nothing of a message is kept.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace yard {

struct WebSocketEvent {
  enum class Type { Data, Ping, Pong, Close, Broken };
  Type type = Type::Data;
  std::string bytes;  // of Broken: what is wrong
  bool starts_message = false, ends_message = false;
  bool is_text = false;
};

class WebSocketReader {
 public:
  enum class Side { Server, Client };  // who reads: only what clients send is masked
  explicit WebSocketReader(Side side) : side_(side) {}
  // Takes bytes off the front; nullopt when it needs more of them. Nothing follows Broken.
  std::optional<WebSocketEvent> next(std::string_view& bytes);

 private:
  bool read_head(std::string_view& bytes);
  WebSocketEvent broken(const char* why);
  void unmask(std::string& bytes);

  Side side_;
  std::string head_;     // of the frame being read, until it is whole
  std::string control_;  // the payload of a control frame
  bool in_frame_ = false, is_final_ = false, in_message_ = false, is_text_ = false;
  bool is_broken_ = false, is_first_piece_ = false;
  int opcode_ = 0;
  uint64_t left_ = 0;  // of the frame's payload
  unsigned char mask_[4] = {};
  size_t mask_at_ = 0;
};

// One frame that is a whole message. A client passes the mask it has drawn.
enum class WebSocketOpcode { Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };
std::string websocket_frame(WebSocketOpcode opcode, std::string_view first, std::string_view rest,
                            std::optional<uint32_t> mask = std::nullopt);
std::string websocket_close(int code);               // as a server says it
std::string websocket_accept(std::string_view key);  // Sec-WebSocket-Accept

}  // namespace yard
