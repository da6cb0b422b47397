#include "net/websocket.h"

#include <algorithm>
#include <utility>

#include <openssl/sha.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostControl = 125;
constexpr size_t kMostPiece = 64 * 1024;

bool is_control(int opcode) {
  return opcode >= 8;
}

// How long the head is that begins with these two bytes.
size_t head_size(std::string_view head) {
  const auto second = static_cast<unsigned char>(head[1]);
  const int length = second & 0x7f;
  return 2u + (length == 126 ? 2u : length == 127 ? 8u : 0u) + ((second & 0x80) != 0 ? 4u : 0u);
}

}  // namespace

WebSocketEvent WebSocketReader::broken(const char* why) {
  is_broken_ = true;
  return {WebSocketEvent::Type::Broken, why};
}

// False when more is needed.
bool WebSocketReader::read_head(std::string_view& bytes) {
  while (head_.size() < 2 || head_.size() < head_size(head_)) {
    const size_t wanted = (head_.size() < 2 ? 2 : head_size(head_)) - head_.size();
    const size_t taken = std::min(wanted, bytes.size());
    head_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (taken < wanted) return false;
  }
  return true;
}

void WebSocketReader::unmask(std::string& bytes) {
  if (side_ == Side::Client) return;
  for (char& byte : bytes)
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ mask_[mask_at_++ % 4]);
}

std::optional<WebSocketEvent> WebSocketReader::next(std::string_view& bytes) {
  if (is_broken_) return std::nullopt;
  if (!in_frame_) {
    if (!read_head(bytes)) return std::nullopt;
    const auto first = static_cast<unsigned char>(head_[0]),
               second = static_cast<unsigned char>(head_[1]);
    opcode_ = first & 0x0f;
    is_final_ = (first & 0x80) != 0;
    const bool is_masked = (second & 0x80) != 0;
    if ((first & 0x70) != 0) return broken("reserved bits are set");
    if (is_masked != (side_ == Side::Server))
      return broken(is_masked ? "a server's frame is masked" : "a client's frame is not masked");
    const size_t length_bytes = (second & 0x7f) == 126 ? 2 : (second & 0x7f) == 127 ? 8 : 0;
    left_ = length_bytes == 0 ? second & 0x7f : 0;
    for (size_t i = 0; i < length_bytes; ++i)
      left_ = left_ << 8 | static_cast<unsigned char>(head_[2 + i]);
    if (left_ >> 63 != 0) return broken("a frame's length is not possible");
    for (size_t i = 0; is_masked && i < 4; ++i)
      mask_[i] = static_cast<unsigned char>(head_[2 + length_bytes + i]);
    mask_at_ = 0;
    head_.clear();
    control_.clear();
    if (is_control(opcode_)) {
      if (opcode_ > 10) return broken("an unknown opcode");
      if (!is_final_ || left_ > kMostControl) return broken("a control frame is too long");
    } else {
      if (opcode_ > 2) return broken("an unknown opcode");
      if ((opcode_ == 0) != in_message_)
        return broken(in_message_ ? "a message begins inside another"
                                  : "a continuation without a message");
      if (opcode_ != 0) is_text_ = opcode_ == 1;
      is_first_piece_ = opcode_ != 0;
      in_message_ = true;
    }
    in_frame_ = true;
  }
  const size_t taken = static_cast<size_t>(
      std::min<uint64_t>({left_, bytes.size(), is_control(opcode_) ? kMostControl : kMostPiece}));
  if (taken == 0 && left_ > 0) return std::nullopt;
  std::string piece(bytes.substr(0, taken));
  bytes.remove_prefix(taken);
  left_ -= taken;
  unmask(piece);
  if (is_control(opcode_)) {
    control_ += piece;
    if (left_ > 0) return std::nullopt;
    in_frame_ = false;
    const auto type = opcode_ == 8   ? WebSocketEvent::Type::Close
                      : opcode_ == 9 ? WebSocketEvent::Type::Ping
                                     : WebSocketEvent::Type::Pong;
    return WebSocketEvent{type, std::move(control_)};
  }
  WebSocketEvent out{WebSocketEvent::Type::Data, std::move(piece)};
  out.starts_message = std::exchange(is_first_piece_, false);
  out.is_text = is_text_;
  if (left_ == 0) {
    in_frame_ = false;
    out.ends_message = is_final_;
    in_message_ = !is_final_;
  }
  return out;
}

std::string websocket_frame(WebSocketOpcode opcode, std::string_view first, std::string_view rest,
                            std::optional<uint32_t> mask) {
  const uint64_t size = first.size() + rest.size();
  const char mask_bit = mask ? static_cast<char>(0x80) : '\0';
  std::string out;
  out.reserve(size + 14);
  out += static_cast<char>(0x80 | static_cast<int>(opcode));
  const int length_bytes = size <= kMostControl ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(mask_bit | static_cast<char>(length_bytes == 0   ? size
                                                        : length_bytes == 2 ? 126
                                                                            : 127));
  for (int shift = 8 * (length_bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(size >> shift & 0xff);
  if (mask) {
    for (const int shift : {24, 16, 8, 0})
      out += static_cast<char>(*mask >> shift & 0xff);
  }
  const size_t payload = out.size();
  out.append(first).append(rest);
  for (size_t i = payload; mask && i < out.size(); ++i)
    out[i] = static_cast<char>(out[i] ^ static_cast<char>(*mask >> (24 - 8 * ((i - payload) % 4))));
  return out;
}

std::string websocket_close(int code) {
  const char bytes[] = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  return websocket_frame(WebSocketOpcode::Close, {}, std::string_view(bytes, 2));
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return base64_encode(std::string_view(reinterpret_cast<const char*>(digest), sizeof digest));
}

}  // namespace yard
