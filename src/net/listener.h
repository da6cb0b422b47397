#pragma once
// Listening sockets: how they are made, with errors in words, and who may come in.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/asio.h"
#include "net/io_thread.h"

namespace yard {

// Non-blocking, listening, close-on-exec.
Result<int> open_tcp_listener(const std::string& address, int port);
Result<int> open_unix_listener(const std::string& path);
int port_of(int listener);

// Accepts on an I/O thread until it stops.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // `accepted` owns the descriptor it is given.
  Listener(std::shared_ptr<IoThread> io, int fd, std::function<void(int fd)> accepted);
  void start();  // before the thread runs, or on it
  void close();

 private:
  void wait();
  void accept_all();

  std::shared_ptr<IoThread> io_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  std::function<void(int)> accepted_;
};

}  // namespace yard
