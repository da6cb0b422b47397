#pragma once
// One client's connection, from handshake to last byte. Everything here runs on the connection's
// I/O thread; Responder and HttpStream (responder.h) bring calls of other threads to it.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/asio.h"
#include "net/gzip.h"
#include "net/http_parser.h"
#include "net/io_thread.h"
#include "net/outgoing.h"
#include "net/tls.h"

namespace yard {

class Connection;

// What a stream's two ends share.
struct StreamState {
  std::atomic<size_t> queued = 0;  // bytes written and not yet taken by the kernel
  std::atomic<bool> closed = false;
  Connection* connection = nullptr;  // while it is open; I/O thread only, as all that follows
  std::function<void()> on_closed;
  // Of an upgraded connection (net/tunnel.h):
  std::function<void(std::string_view)> on_bytes;
  std::function<void()> on_drained;
  bool paused = true;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Owns `fd`, which is non-blocking. Plain without `ssl`.
  Connection(std::shared_ptr<IoThread> io, int fd, Ssl ssl, Peer peer);
  ~Connection();

  void start();
  void shut_down();  // the server stops: finish what has begun
  void close();      // at once; harmless when done before
  void flush();
  // A flush in two steps, so that a thread encrypts for many before it sends to them (io_thread.h):
  // into io().output, and the bytes that came of it.
  void seal();
  void send_sealed(std::string_view bytes);
  void on_deadline(Wait wait);

  // The answer to the request being handled; without effect when the connection has gone.
  void respond(HttpResponse response);
  void open_stream(int status, const Headers& headers, std::shared_ptr<StreamState> stream);
  void add_frame(const std::shared_ptr<StreamState>& stream, SharedBytes frame);
  void end_stream(const std::shared_ptr<StreamState>& stream);

  // Leaves HTTP; false when the client has gone. Nothing is read before resume_reading.
  bool upgrade(const Headers& headers, std::shared_ptr<StreamState> stream);
  void resume_reading(const std::shared_ptr<StreamState>& stream);
  void linger(const std::shared_ptr<StreamState>& stream);

  IoThread& io() { return *io_; }

 private:
  enum class Phase {
    Handshaking,
    Reading,
    Handling,
    Sending,
    Streaming,
    Upgraded,
    Lingering,
    Closed
  };

  void read_available();
  bool finish_handshake();
  void discard_available();
  void hand_on(std::string_view bytes);
  void on_peer_eof();
  void parse(std::string_view fresh);
  size_t parse_requests(std::string_view bytes);
  void dispatch();
  void refuse(const ParseFailure& failure);
  void count_receiving(size_t bytes);
  void start_response(HttpResponse response);
  void start_gzip(HttpResponse response);
  void pump_gzip();
  std::string head_of(int status, const Headers& headers) const;
  void finish_message();
  void begin_close();
  void close_stream();
  void push_output();
  void push(std::string_view bytes);
  bool send_unsent();
  ssize_t send_some(std::string_view bytes);
  void on_blocked();
  void on_all_sent();
  void flush_soon();
  void wait_readable();
  void wait_writable();
  void arm(Wait wait) { io_->arm(deadline_, this, wait); }

  std::shared_ptr<IoThread> io_;  // first, to be destroyed last
  std::optional<boost::asio::posix::stream_descriptor> socket_;
  std::optional<Transport> transport_;
  Peer peer_;
  Phase phase_ = Phase::Handshaking;
  Deadlines::Slot deadline_;
  std::unique_ptr<RequestParser> parser_;  // only while a request is being read
  std::string input_;                      // read and not yet parsed
  Outgoing outgoing_;
  std::string unsent_;  // what the kernel would not take yet
  size_t unsent_at_ = 0;
  std::shared_ptr<StreamState> stream_;
  std::unique_ptr<GzipBody> gzip_;    // of the answer being sent
  size_t receiving_ = 0;              // of io_->receiving
  size_t frame_bytes_in_flight_ = 0;  // handed to the transport, not yet to the kernel
  bool waiting_readable_ = false, waiting_writable_ = false;
  bool reading_paused_ = false, peer_eof_ = false;
  bool will_flush_ = false, stream_ended_ = false, lingers_ = false;
  // Of the request being answered:
  bool keep_alive_ = false, is_head_ = false, is_http10_ = false, accepts_gzip_ = false;
};

}  // namespace yard
