#pragma once
// A connection that has left HTTP: bytes in both directions. Everything here is of the connection's
// I/O thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace yard {

struct TunnelEvents {
  std::function<void(std::string_view)> bytes;
  std::function<void()> drained;  // all that was sent is in the kernel's hands
  std::function<void()> closed;   // once, the last one
};

class Tunnel {
 public:
  virtual ~Tunnel() = default;
  virtual void listen(TunnelEvents events) = 0;  // once
  virtual void send(std::string bytes) = 0;
  virtual size_t queued() const = 0;    // sent and not yet taken by the kernel
  virtual void pause(bool paused) = 0;  // reading; the client then waits
  virtual void finish() = 0;  // all is said: the client may leave first, for a bounded time
  virtual void close() = 0;   // when what is queued has gone
  virtual boost::asio::io_context& context() = 0;
};

enum class MessageForm { Binary, Text };

// The payload of WebSocket messages as one stream of bytes: SPDY inside WebSocket. What is sent
// goes as one message of the form.
std::shared_ptr<Tunnel> make_websocket_tunnel(std::shared_ptr<Tunnel> below,
                                              MessageForm form = MessageForm::Binary);

}  // namespace yard
