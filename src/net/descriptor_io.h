#pragma once
// One direction of a pipe, terminal or socket, on an I/O thread: read while somebody takes the
// bytes, written as far as the kernel takes them. Both own their descriptor.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "net/asio.h"

namespace yard {

class DescriptorReader : public std::enable_shared_from_this<DescriptorReader> {
 public:
  struct Events {
    std::function<bool(std::string_view)> bytes;  // false: no more until resume()
    std::function<void()> ended;                  // once
  };
  DescriptorReader(boost::asio::io_context& context, Descriptor fd, Events events);
  void resume();
  void read_rest();  // its writer is gone: what is there now is all there will be
  void close();      // no event comes after
  bool has_ended() const { return ended_; }

 private:
  void read();
  void wait();
  void end();

  boost::asio::posix::stream_descriptor descriptor_;
  Events events_;
  bool waiting_ = false, held_ = false, only_rest_ = false, ended_ = false;
};

class DescriptorWriter : public std::enable_shared_from_this<DescriptorWriter> {
 public:
  struct Events {
    std::function<void()> drained;
    std::function<void()> broken;  // nobody reads any more
  };
  DescriptorWriter(boost::asio::io_context& context, Descriptor fd, Events events);
  void write(std::string_view bytes);
  size_t queued() const { return queue_.size() - sent_; }
  void finish(std::function<void(int fd)> last);  // runs when all is written
  void close();

 private:
  void flush();
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  Events events_;
  std::string queue_;
  size_t sent_ = 0;
  std::function<void(int fd)> last_;
  bool waiting_ = false, closed_ = false;
};

}  // namespace yard
