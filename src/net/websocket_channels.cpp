#include <utility>

#include "base/log.h"
#include "net/channels.h"
#include "net/websocket.h"

namespace yard {
namespace {

constexpr unsigned char kEndOfChannel = 0xff;  // v5: the byte after it says which
constexpr int kNormal = 1000, kProtocolError = 1002;

// What both ways to use WebSocket share: pings are answered, a close is, and what breaks the
// protocol ends the session.
class WebSocketWire {
 public:
  explicit WebSocketWire(std::shared_ptr<Tunnel> tunnel) : tunnel(std::move(tunnel)) {}

  // `data` gets each piece of a message.
  template <typename Data>
  void read(std::string_view bytes, const Data& data) {
    while (!is_over_) {
      auto event = reader_.next(bytes);
      if (!event) return;
      switch (event->type) {
        case WebSocketEvent::Type::Data: data(*event); break;
        case WebSocketEvent::Type::Ping:
          tunnel->send(websocket_frame(WebSocketOpcode::Pong, {}, event->bytes));
          break;
        case WebSocketEvent::Type::Pong: break;
        case WebSocketEvent::Type::Close: say_close(kNormal); return end();
        case WebSocketEvent::Type::Broken:
          log_debug("a WebSocket client: {}", event->bytes);
          say_close(kProtocolError);
          return end();
      }
    }
  }
  void say_close(int code) {
    if (!std::exchange(said_close_, true)) tunnel->send(websocket_close(code));
  }

  std::shared_ptr<Tunnel> tunnel;

 private:
  void end() {
    is_over_ = true;
    tunnel->close();
  }
  WebSocketReader reader_{WebSocketReader::Side::Server};
  bool is_over_ = false, said_close_ = false;
};

class WebSocketChannels : public Channels, public std::enable_shared_from_this<WebSocketChannels> {
 public:
  explicit WebSocketChannels(std::shared_ptr<Tunnel> tunnel) : wire_(std::move(tunnel)) {}

  void listen(std::shared_ptr<ChannelUser> user) override {
    user_ = std::move(user);
    auto self = shared_from_this();
    wire_.tunnel->listen({[self](std::string_view bytes) {
                            self->wire_.read(bytes, [&](auto& event) { self->take(event); });
                          },
                          [self] { self->user_->on_drained(); },
                          [self] { std::exchange(self->user_, nullptr)->on_closed(); }});
  }
  void send(int channel, std::string_view bytes) override {
    const char first = static_cast<char>(channel);
    wire_.tunnel->send(
        websocket_frame(WebSocketOpcode::Binary, std::string_view(&first, 1), bytes));
  }
  void end(int) override {}
  void forget(int) override {}
  size_t queued() const override { return wire_.tunnel->queued(); }
  void pause(bool paused) override { wire_.tunnel->pause(paused); }
  void finish() override {
    wire_.say_close(kNormal);
    wire_.tunnel->finish();
  }
  void close() override { wire_.tunnel->close(); }
  boost::asio::io_context& context() override { return wire_.tunnel->context(); }

 private:
  // The channel is the first byte of a message, not of a frame.
  void take(const WebSocketEvent& event) {
    std::string_view bytes = event.bytes;
    if (event.starts_message) channel_ = -1;
    if (channel_ < 0 && !bytes.empty()) {
      channel_ = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
    }
    if (channel_ < 0 || bytes.empty()) return;
    if (channel_ == kEndOfChannel) return user_->on_end(static_cast<unsigned char>(bytes.front()));
    user_->on_bytes(channel_, bytes);
  }

  WebSocketWire wire_;
  std::shared_ptr<ChannelUser> user_;
  int channel_ = -1;
};

class WebSocketTunnel : public Tunnel, public std::enable_shared_from_this<WebSocketTunnel> {
 public:
  WebSocketTunnel(std::shared_ptr<Tunnel> below, MessageForm form)
      : wire_(std::move(below)),
        opcode_(form == MessageForm::Text ? WebSocketOpcode::Text : WebSocketOpcode::Binary) {}

  void listen(TunnelEvents events) override {
    wire_.tunnel->listen(
        {[self = shared_from_this(), bytes = std::move(events.bytes)](std::string_view fresh) {
           self->wire_.read(fresh, [&](auto& event) { bytes(event.bytes); });
         },
         std::move(events.drained), std::move(events.closed)});
  }
  void send(std::string bytes) override { wire_.tunnel->send(websocket_frame(opcode_, {}, bytes)); }
  size_t queued() const override { return wire_.tunnel->queued(); }
  void pause(bool paused) override { wire_.tunnel->pause(paused); }
  void finish() override {
    wire_.say_close(kNormal);
    wire_.tunnel->finish();
  }
  void close() override { wire_.tunnel->close(); }
  boost::asio::io_context& context() override { return wire_.tunnel->context(); }

 private:
  WebSocketWire wire_;
  WebSocketOpcode opcode_;
};

}  // namespace

std::shared_ptr<Channels> make_websocket_channels(std::shared_ptr<Tunnel> tunnel) {
  return std::make_shared<WebSocketChannels>(std::move(tunnel));
}

std::shared_ptr<Tunnel> make_websocket_tunnel(std::shared_ptr<Tunnel> below, MessageForm form) {
  return std::make_shared<WebSocketTunnel>(std::move(below), form);
}

}  // namespace yard
