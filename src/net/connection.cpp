#include "net/connection.h"

#include <cerrno>
#include <sys/socket.h>

#include <fmt/format.h>

#include "net/responder.h"

namespace yard {

namespace {

constexpr size_t kMaxPipelined = 64 * 1024;  // read ahead of the request being answered
constexpr size_t kSendSize = 256 * 1024;     // of one send
constexpr size_t kTurnSize = 1024 * 1024;    // to one client before others have their turn
constexpr size_t kMaxUnsent = 1024 * 1024;   // more of it than kSendSize is handshake noise
constexpr size_t kKeptCapacity = 4096;
// As upstream: below, compressing costs more than it saves.
constexpr size_t kGzipFrom = 128 * 1024;
constexpr size_t kGzipStep = 256 * 1024;  // compressed in one turn: about 2 ms
constexpr size_t kSmallBody = 16 * 1024;  // never what fills the memory

using Descriptor = boost::asio::posix::stream_descriptor;

}  // namespace

Connection::Connection(std::shared_ptr<IoThread> io, int fd, Ssl ssl, Peer peer)
    : io_(std::move(io)), peer_(std::move(peer)) {
  socket_.emplace(io_->context(), fd);
  if (ssl) {
    transport_.emplace(fd, &io_->output, std::move(ssl));
  } else {
    transport_.emplace(fd, &io_->output);
  }
}

Connection::~Connection() {
  check(phase_ == Phase::Closed, "a connection is closed on its own thread");
}

void Connection::start() {
  io_->add(shared_from_this());
  if (io_->is_stopping()) {
    close();
    return;
  }
  arm(Wait::Header);
  read_available();
}

// ---- reading

void Connection::wait_readable() {
  if (waiting_readable_ || phase_ == Phase::Closed) return;
  waiting_readable_ = true;
  socket_->async_wait(Descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& code) {
                        self->waiting_readable_ = false;
                        if (code || self->phase_ == Phase::Closed) return;
                        self->read_available();
                      });
}

void Connection::read_available() {
  while (true) {
    if (phase_ == Phase::Closed || peer_eof_) return;
    if (phase_ == Phase::Lingering) return discard_available();
    if (phase_ == Phase::Handshaking && !finish_handshake()) return;
    const bool is_held = phase_ == Phase::Upgraded
                             ? stream_->paused
                             : phase_ != Phase::Reading && input_.size() >= kMaxPipelined;
    if (is_held) {
      reading_paused_ = true;  // finish_message or resume_reading goes on
      return;
    }
    io_->output.clear();
    Transport::Read read = transport_->read(io_->input);
    push_output();  // TLS answers some messages by itself
    if (phase_ == Phase::Closed) return;
    if (read.io == Io::Again) return wait_readable();
    if (read.io == Io::Eof) return on_peer_eof();
    if (read.io == Io::Failed) return close();
    io_->counters().bytes_in.fetch_add(read.size, std::memory_order_relaxed);
    std::string_view bytes(io_->input.data(), read.size);
    if (phase_ == Phase::Reading) {
      parse(bytes);
    } else if (phase_ == Phase::Upgraded) {
      hand_on(bytes);
    } else {
      input_.append(bytes);
    }
    bool in_body = phase_ == Phase::Reading && parser_ && parser_->has_head();
    // The head of a request nearly always comes whole: waiting saves the read that would find
    // nothing.
    if (!in_body && phase_ != Phase::Closed && !transport_->has_buffered()) return wait_readable();
  }
}

bool Connection::finish_handshake() {
  io_->output.clear();
  Io outcome = transport_->handshake();
  if (outcome == Io::Failed && transport_->met_plain_http()) {
    io_->output =
        "HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nThis port speaks HTTPS; use https:// "
        "in the "
        "address.\n";
  }
  push_output();
  if (phase_ == Phase::Closed) return false;
  switch (outcome) {
    case Io::Again: wait_readable(); return false;
    case Io::Eof: close(); return false;
    case Io::Failed:
      io_->counters().refused.fetch_add(1, std::memory_order_relaxed);
      begin_close();
      return false;
    case Io::Done: break;
  }
  if (transport_->is_tls()) {
    Peer certified = peer_of(transport_->ssl());
    peer_.common_name = std::move(certified.common_name);
    peer_.organizations = std::move(certified.organizations);
    peer_.certificate_ends = certified.certificate_ends;
  }
  phase_ = Phase::Reading;
  arm(Wait::Idle);
  return true;
}

void Connection::discard_available() {
  while (true) {
    ssize_t size = ::recv(socket_->native_handle(), io_->input.data(), io_->input.size(), 0);
    if (size > 0) continue;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_readable();
    return close();
  }
}

void Connection::on_peer_eof() {
  peer_eof_ = true;
  // A client may end its side and still read the answer; between requests and on a stream it has
  // left.
  if (phase_ != Phase::Handling && phase_ != Phase::Sending) close();
}

// ---- requests

void Connection::parse(std::string_view fresh) {
  if (input_.empty()) {
    size_t used = parse_requests(fresh);
    if (phase_ != Phase::Closed && used < fresh.size()) input_.assign(fresh.substr(used));
    return;
  }
  input_.append(fresh);
  size_t used = parse_requests(input_);
  if (used < input_.size()) {
    input_.erase(0, used);
  } else if (input_.capacity() > kKeptCapacity) {
    input_ = std::string();
  } else {
    input_.clear();
  }
}

size_t Connection::parse_requests(std::string_view bytes) {
  size_t used = 0;
  while (phase_ == Phase::Reading && used < bytes.size()) {
    if (!parser_) {
      // Some clients end a body with an empty line that belongs to nothing.
      if (bytes[used] == '\r' || bytes[used] == '\n') {
        ++used;
        continue;
      }
      parser_ = std::make_unique<RequestParser>(
          ParserLimits{io_->limits().max_header, io_->limits().max_body});
      arm(Wait::Header);
    }
    bool had_head = parser_->has_head();
    RequestParser::Step step = parser_->feed(bytes.substr(used));
    used += step.used;
    if (!had_head && parser_->has_head()) arm(Wait::Body);
    count_receiving(parser_->body_bytes());
    if (step.outcome == RequestParser::Outcome::NeedMore && receiving_ > kSmallBody &&
        io_->receiving > io_->limits().max_receiving) {
      refuse({429, "TooManyRequests", "Too many requests, please try again later."});
      return bytes.size();
    }
    switch (step.outcome) {
      case RequestParser::Outcome::NeedMore: return used;
      case RequestParser::Outcome::ExpectsContinue:
        io_->output.clear();
        transport_->write("HTTP/1.1 100 Continue\r\n\r\n");
        push_output();
        return used;
      case RequestParser::Outcome::Failed: refuse(parser_->failure()); return bytes.size();
      case RequestParser::Outcome::Complete: dispatch(); break;
    }
  }
  return used;
}

// Bodies are read before anybody is asked who they are.
void Connection::count_receiving(size_t bytes) {
  io_->receiving += bytes - receiving_;
  receiving_ = bytes;
}

void Connection::dispatch() {
  count_receiving(0);
  std::unique_ptr<RequestParser> parser = std::move(parser_);
  HttpRequest request = parser->take_request();
  request.peer = peer_;
  keep_alive_ = parser->wants_keep_alive();
  is_http10_ = parser->is_http10();
  is_head_ = request.method == "HEAD";
  accepts_gzip_ = accepts_gzip(request.header("Accept-Encoding"));
  phase_ = Phase::Handling;
  io_->disarm(deadline_);
  io_->handler()(std::move(request), std::make_shared<ConnectionResponder>(shared_from_this()));
}

void Connection::refuse(const ParseFailure& failure) {
  HttpResponse response;
  response.status = failure.status;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}};
  // The messages are our own words: nothing in them needs escaping.
  response.body = {std::make_shared<const std::string>(fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{}","reason":"{}","code":{}}})"
      "\n",
      failure.message, failure.reason, failure.status))};
  if (failure.status == 429) response.headers.emplace_back("Retry-After", "1");
  count_receiving(0);
  parser_.reset();
  keep_alive_ = is_head_ = is_http10_ = accepts_gzip_ = false;
  start_response(std::move(response));
  flush();
}

// ---- answers

std::string Connection::head_of(int status, const Headers& headers) const {
  std::string head;
  head.reserve(384);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\nDate: {}\r\n", status,
                 reason_phrase(status), io_->date());
  for (const auto& [name, value] : headers) {
    append_header(head, name, value);
  }
  if (!keep_alive_) head += "Connection: close\r\n";
  return head;
}

void Connection::respond(HttpResponse response) {
  if (phase_ != Phase::Handling) return;
  if (io_->is_stopping()) keep_alive_ = false;
  start_response(std::move(response));
  flush_soon();
}

void Connection::start_response(HttpResponse response) {
  bool may_have_body = response.status >= 200 && response.status != 204 && response.status != 304;
  if (accepts_gzip_ && may_have_body && !is_head_ && !is_http10_ && body_size(response) > kGzipFrom)
    return start_gzip(std::move(response));
  std::string head = head_of(response.status, response.headers);
  if (may_have_body) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", body_size(response));
  }
  head += "\r\n";
  phase_ = Phase::Sending;
  outgoing_.set_response(std::move(head), std::move(response), may_have_body && !is_head_);
}

void Connection::start_gzip(HttpResponse response) {
  std::string head = head_of(response.status, response.headers);
  head += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n";
  phase_ = Phase::Streaming;
  stream_ended_ = false;
  gzip_ = std::make_unique<GzipBody>(std::move(response));
  outgoing_.open_stream(std::move(head), Outgoing::Framing::Chunked);
}

// The next piece, when the last has been sent and others have had their turn.
void Connection::pump_gzip() {
  boost::asio::post(io_->context(), [self = shared_from_this()] {
    if (!self->gzip_ || self->phase_ != Phase::Streaming) return;
    std::string bytes = self->gzip_->next(kGzipStep);
    if (self->gzip_->is_done()) {
      self->gzip_.reset();
      self->stream_ended_ = true;
    }
    if (!bytes.empty())
      self->outgoing_.add_frame(std::make_shared<const std::string>(std::move(bytes)));
    if (self->stream_ended_) self->outgoing_.end_stream();
    self->flush();
  });
}

void Connection::open_stream(int status, const Headers& headers,
                             std::shared_ptr<StreamState> stream) {
  if (phase_ != Phase::Handling) {
    stream->closed = true;
    return;
  }
  auto framing = Outgoing::Framing::Chunked;
  if (is_http10_) framing = Outgoing::Framing::UntilClose;
  if (is_head_) framing = Outgoing::Framing::NoBody;
  if (io_->is_stopping()) keep_alive_ = false;
  std::string head = head_of(status, headers);
  if (!is_http10_) head += "Transfer-Encoding: chunked\r\n";
  head += "\r\n";
  phase_ = Phase::Streaming;
  stream_ended_ = false;
  stream_ = std::move(stream);
  stream_->connection = this;
  io_->counters().streams.fetch_add(1, std::memory_order_relaxed);
  outgoing_.open_stream(std::move(head), framing);
  flush_soon();
  if (io_->is_stopping() || is_head_) end_stream(stream_);
}

void Connection::add_frame(const std::shared_ptr<StreamState>& stream, SharedBytes frame) {
  if (stream_ != stream || stream_ended_) return;
  outgoing_.add_frame(std::move(frame));
  flush_soon();
}

void Connection::end_stream(const std::shared_ptr<StreamState>& stream) {
  if (stream_ != stream || !stream || stream_ended_) return;
  stream_ended_ = true;
  outgoing_.end_stream();
  if (waiting_writable_) arm(Wait::Write);  // who does not read holds nothing open
  flush_soon();
}

bool Connection::upgrade(const Headers& headers, std::shared_ptr<StreamState> stream) {
  if (phase_ != Phase::Handling || io_->is_stopping() || peer_eof_) {
    close();
    return false;
  }
  keep_alive_ = true;  // for the head alone
  std::string head = head_of(101, headers) + "\r\n";
  keep_alive_ = false;
  phase_ = Phase::Upgraded;
  stream_ended_ = lingers_ = false;
  reading_paused_ = true;
  stream_ = std::move(stream);
  stream_->connection = this;
  io_->counters().streams.fetch_add(1, std::memory_order_relaxed);
  outgoing_.open_stream(std::move(head), Outgoing::Framing::UntilClose);
  arm(Wait::Tunnel);
  flush_soon();
  return true;
}

// Never inline: whoever asks may be in the middle of what was read.
void Connection::resume_reading(const std::shared_ptr<StreamState>& stream) {
  if (stream_ != stream) return;
  stream->paused = false;
  boost::asio::post(io_->context(), [self = shared_from_this()] {
    if (self->phase_ != Phase::Upgraded || self->stream_->paused) return;
    if (!self->input_.empty()) self->hand_on(std::exchange(self->input_, {}));
    if (self->phase_ == Phase::Upgraded && std::exchange(self->reading_paused_, false))
      self->read_available();
  });
}

void Connection::hand_on(std::string_view bytes) {
  if (stream_ended_) return;  // it was cut: nothing more is heard
  if (!lingers_) arm(Wait::Tunnel);
  const auto stream = stream_;
  if (stream->on_bytes) stream->on_bytes(bytes);
}

void Connection::linger(const std::shared_ptr<StreamState>& stream) {
  if (stream_ != stream || lingers_) return;
  lingers_ = true;
  if (outgoing_.empty() && !waiting_writable_) arm(Wait::Linger);
}

void Connection::close_stream() {
  if (!stream_) return;
  std::shared_ptr<StreamState> stream = std::move(stream_);
  stream_.reset();
  frame_bytes_in_flight_ = 0;
  io_->counters().streams.fetch_sub(1, std::memory_order_relaxed);
  stream->connection = nullptr;
  stream->closed = true;
  stream->queued = 0;
  // They hold what holds the stream. One of them may be running: they go when it has returned.
  boost::asio::post(io_->context(), [bytes = std::move(stream->on_bytes),
                                     drained = std::move(stream->on_drained)] {});
  if (auto callback = std::exchange(stream->on_closed, nullptr)) callback();
}

void Connection::finish_message() {
  outgoing_.clear();
  frame_bytes_in_flight_ = 0;
  close_stream();
  if (phase_ == Phase::Closed) return;
  if (!keep_alive_ || peer_eof_ || io_->is_stopping()) return begin_close();
  phase_ = Phase::Reading;
  arm(Wait::Idle);
  if (!input_.empty()) parse({});
  if (phase_ == Phase::Closed || phase_ == Phase::Lingering) return;
  if (std::exchange(reading_paused_, false) || transport_->has_buffered()) read_available();
}

// ---- writing

void Connection::flush_soon() {
  if (will_flush_ || phase_ == Phase::Closed) return;
  will_flush_ = true;
  io_->flush_at_end_of_turn(shared_from_this());
}

// Puts what comes next behind whatever stands in the thread's output.
void Connection::seal() {
  will_flush_ = false;
  if (waiting_writable_ || phase_ == Phase::Closed) return;
  const size_t began = io_->output.size();
  while (!outgoing_.empty() && io_->output.size() - began + kRecordSize <= kSendSize) {
    transport_->write(outgoing_.next(io_->record, io_->chunk));
  }
  frame_bytes_in_flight_ += outgoing_.take_frame_bytes_sent();
}

void Connection::flush() {
  will_flush_ = false;
  size_t this_turn = 0;
  while (phase_ != Phase::Closed && !waiting_writable_) {
    if (outgoing_.empty()) return on_all_sent();
    if (this_turn >= kTurnSize) {
      io_->post([self = shared_from_this()] { self->flush(); });
      return;
    }
    io_->output.clear();
    seal();
    this_turn += io_->output.size();
    push_output();
  }
}

void Connection::send_sealed(std::string_view bytes) {
  push(bytes);
  flush();
}

// Sends what the transport produced, behind what could not be sent before.
void Connection::push_output() {
  push(io_->output);
  io_->output.clear();
}

void Connection::push(std::string_view bytes) {
  if (phase_ == Phase::Closed) return;
  if (unsent_at_ < unsent_.size()) {
    unsent_.append(bytes);
    if (unsent_.size() - unsent_at_ > kMaxUnsent) close();
    return;
  }
  if (!bytes.empty()) {
    ssize_t sent = send_some(bytes);
    if (sent < 0) return close();
    if (static_cast<size_t>(sent) < bytes.size()) {
      unsent_.assign(bytes.substr(static_cast<size_t>(sent)));
      unsent_at_ = 0;
      return on_blocked();
    }
  }
  if (stream_ && frame_bytes_in_flight_ > 0)
    stream_->queued -= std::exchange(frame_bytes_in_flight_, 0);
}

// Bytes taken, 0 when the kernel takes none now, -1 when the other end is gone.
ssize_t Connection::send_some(std::string_view bytes) {
  while (true) {
    ssize_t sent = ::send(socket_->native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      io_->counters().bytes_out.fetch_add(static_cast<uint64_t>(sent), std::memory_order_relaxed);
      return sent;
    }
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  }
}

void Connection::on_blocked() {
  // On a tunnel the client says when it reads: a terminal may be stopped for an hour.
  if (phase_ == Phase::Sending || phase_ == Phase::Streaming || stream_ended_) arm(Wait::Write);
  wait_writable();
}

void Connection::wait_writable() {
  if (waiting_writable_ || phase_ == Phase::Closed) return;
  waiting_writable_ = true;
  socket_->async_wait(Descriptor::wait_write,
                      [self = shared_from_this()](const boost::system::error_code& code) {
                        self->waiting_writable_ = false;
                        if (code || self->phase_ == Phase::Closed) return;
                        if (self->send_unsent()) self->flush();
                      });
}

// True when nothing is left of it.
bool Connection::send_unsent() {
  ssize_t sent = send_some(std::string_view(unsent_).substr(unsent_at_));
  if (sent < 0) {
    close();
    return false;
  }
  unsent_at_ += static_cast<size_t>(sent);
  if (unsent_at_ < unsent_.size()) {
    if (sent > 0) {
      on_blocked();
    } else {
      wait_writable();  // no progress: the deadline stands
    }
    return false;
  }
  unsent_ = std::string();
  unsent_at_ = 0;
  if (stream_ && frame_bytes_in_flight_ > 0)
    stream_->queued -= std::exchange(frame_bytes_in_flight_, 0);
  return true;
}

void Connection::on_all_sent() {
  if (phase_ == Phase::Sending) return finish_message();
  if (phase_ == Phase::Upgraded) {
    if (stream_ended_) return finish_message();
    arm(lingers_ ? Wait::Linger : Wait::Tunnel);
    const auto stream = stream_;
    if (stream->on_drained) stream->on_drained();
    return;
  }
  if (phase_ != Phase::Streaming) return;
  io_->disarm(deadline_);
  if (gzip_) return pump_gzip();
  if (stream_ended_) return finish_message();
  if (peer_eof_) close();
}

// ---- the end

void Connection::begin_close() {
  io_->output.clear();
  transport_->say_goodbye();
  push_output();
  if (phase_ == Phase::Closed) return;
  if (peer_eof_ || io_->is_stopping()) return close();
  // Closing with unread bytes would reset the connection and take the answer from the client's
  // hands: first say that nothing more comes, then wait a moment for its end.
  ::shutdown(socket_->native_handle(), SHUT_WR);
  phase_ = Phase::Lingering;
  input_ = std::string();
  arm(Wait::Linger);
  discard_available();
}

void Connection::on_deadline(Wait wait) {
  auto self = shared_from_this();
  if (wait == Wait::Linger && phase_ == Phase::Upgraded) return finish_message();
  if (wait == Wait::Idle) {
    io_->output.clear();
    transport_->say_goodbye();
    push_output();
  }
  close();
}

void Connection::shut_down() {
  switch (phase_) {
    case Phase::Handling:
    case Phase::Sending: keep_alive_ = false; break;
    case Phase::Streaming:
      keep_alive_ = false;
      end_stream(stream_);
      break;
    default: close();
  }
}

void Connection::close() {
  if (phase_ == Phase::Closed) return;
  auto self = shared_from_this();
  phase_ = Phase::Closed;
  io_->disarm(deadline_);
  transport_.reset();
  socket_.reset();
  count_receiving(0);
  parser_.reset();
  outgoing_.clear();
  gzip_.reset();
  input_ = std::string();
  unsent_ = std::string();
  unsent_at_ = 0;
  close_stream();
  io_->remove(self);
}

}  // namespace yard
