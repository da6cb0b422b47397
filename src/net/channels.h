#pragma once
// Numbered byte channels over one tunnel: WebSocket messages whose first byte is the channel, or
// SPDY streams, whose id it is. Everything here is of the tunnel's I/O thread.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/tunnel.h"

namespace yard {

// Who uses the channels, until on_closed.
class ChannelUser {
 public:
  virtual ~ChannelUser() = default;
  // The client has opened one, with these headers (SPDY alone). False refuses it.
  virtual bool on_opened(int channel,
                         const std::vector<std::pair<std::string, std::string>>& headers) = 0;
  virtual void on_bytes(int channel, std::string_view bytes) = 0;
  virtual void on_end(int channel) = 0;  // nothing more comes on it
  virtual void on_drained() = 0;
  virtual void on_closed() = 0;
};

class Channels {
 public:
  virtual ~Channels() = default;
  virtual void listen(std::shared_ptr<ChannelUser> user) = 0;  // once
  virtual void send(int channel, std::string_view bytes) = 0;
  virtual void end(int channel) = 0;     // nothing more goes out on it
  virtual void forget(int channel) = 0;  // it is over in both directions
  virtual size_t queued() const = 0;
  virtual void pause(bool paused) = 0;
  virtual void finish() = 0;  // all is said
  virtual void close() = 0;
  virtual boost::asio::io_context& context() = 0;
};

std::shared_ptr<Channels> make_websocket_channels(std::shared_ptr<Tunnel> tunnel);
std::shared_ptr<Channels> make_spdy_channels(std::shared_ptr<Tunnel> tunnel);

constexpr size_t kMostChannelMessage = 32 * 1024;  // what one read of a program's output sends

}  // namespace yard
