#include "net/descriptor_io.h"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace yard {
namespace {

using AsioDescriptor = boost::asio::posix::stream_descriptor;

constexpr size_t kReadSize = 32 * 1024;
constexpr int kReadsATurn = 8;  // then others of the thread have theirs

// A socket whose reader is gone must not raise a signal; a pipe knows no flag for that, and the
// program ignores SIGPIPE.
ssize_t put(int fd, std::string_view bytes) {
  const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0 || errno != ENOTSOCK) return count;
  return ::write(fd, bytes.data(), bytes.size());
}

}  // namespace

DescriptorReader::DescriptorReader(boost::asio::io_context& context, Descriptor fd, Events events)
    : descriptor_(context), events_(std::move(events)) {
  boost::system::error_code code;
  descriptor_.assign(fd.release(), code);
}

void DescriptorReader::resume() {
  held_ = false;
  if (!waiting_ && !ended_) read();
}

void DescriptorReader::read_rest() {
  only_rest_ = true;
  if (!held_ && !ended_) read();
}

void DescriptorReader::close() {
  ended_ = true;
  boost::system::error_code code;
  descriptor_.close(code);
}

void DescriptorReader::read() {
  char buffer[kReadSize];
  const auto self = shared_from_this();
  for (int turn = 0; turn < kReadsATurn && !held_ && !ended_; ++turn) {
    const ssize_t count = ::read(descriptor_.native_handle(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (only_rest_) return end();
      return wait();
    }
    if (count <= 0) return end();  // a terminal whose other end has closed answers EIO
    held_ = !events_.bytes(std::string_view(buffer, static_cast<size_t>(count)));
  }
  if (held_ || ended_) return;
  boost::asio::post(descriptor_.get_executor(), [self] {
    if (!self->waiting_ && !self->held_ && !self->ended_) self->read();
  });
}

void DescriptorReader::wait() {
  if (waiting_ || ended_) return;
  waiting_ = true;
  descriptor_.async_wait(AsioDescriptor::wait_read, [self = shared_from_this()](const auto& code) {
    self->waiting_ = false;
    if (!code && !self->held_ && !self->ended_) self->read();
  });
}

void DescriptorReader::end() {
  if (std::exchange(ended_, true)) return;
  events_.ended();
}

DescriptorWriter::DescriptorWriter(boost::asio::io_context& context, Descriptor fd, Events events)
    : descriptor_(context), events_(std::move(events)) {
  boost::system::error_code code;
  descriptor_.assign(fd.release(), code);
}

void DescriptorWriter::write(std::string_view bytes) {
  if (closed_) return;
  queue_.append(bytes);
  if (!waiting_) flush();
}

void DescriptorWriter::finish(std::function<void(int fd)> last) {
  if (closed_) return;
  last_ = std::move(last);
  if (!waiting_) flush();
}

void DescriptorWriter::close() {
  closed_ = true;
  queue_ = std::string();
  sent_ = 0;
  boost::system::error_code code;
  descriptor_.close(code);
}

void DescriptorWriter::flush() {
  const auto self = shared_from_this();
  while (sent_ < queue_.size()) {
    const ssize_t count = put(descriptor_.native_handle(), std::string_view(queue_).substr(sent_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return wait();
    if (count < 0) {
      close();
      return events_.broken();
    }
    sent_ += static_cast<size_t>(count);
  }
  queue_.clear();
  sent_ = 0;
  if (auto last = std::exchange(last_, nullptr)) last(descriptor_.native_handle());
  if (!closed_) events_.drained();
}

void DescriptorWriter::wait() {
  waiting_ = true;
  descriptor_.async_wait(AsioDescriptor::wait_write, [self = shared_from_this()](const auto& code) {
    self->waiting_ = false;
    if (!code && !self->closed_) self->flush();
  });
}

}  // namespace yard
