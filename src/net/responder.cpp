#include "net/responder.h"

#include "net/tunnel.h"

namespace yard {

namespace {

class ConnectionStream : public HttpStream {
 public:
  ConnectionStream(std::shared_ptr<Connection> connection, std::shared_ptr<StreamState> state)
      : state_(std::move(state)), io_(&connection->io()), connection_(std::move(connection)) {}
  ~ConnectionStream() override { close(); }

  void write(SharedBytes bytes) override {
    if (!bytes || bytes->empty() || state_->closed) return;
    size_t size = bytes->size();
    state_->queued += size;
    if (!io_->post_frame(state_, std::move(bytes))) state_->queued -= size;
  }

  void close() override {
    if (close_asked_.exchange(true) || state_->closed) return;
    io_->post([connection = connection_, state = state_] { connection->end_stream(state); });
  }

  size_t queued_bytes() const override { return state_->closed ? 0 : state_->queued.load(); }

  void on_closed(std::function<void()> callback) override {
    auto shared = std::make_shared<std::function<void()>>(std::move(callback));
    bool posted = io_->post([state = state_, shared] {
      if (state->closed) {
        (*shared)();
      } else {
        state->on_closed = std::move(*shared);
      }
    });
    if (!posted) (*shared)();  // the I/O thread has ended, and every stream with it
  }

 private:
  std::shared_ptr<StreamState> state_;
  IoThread* io_;  // the connection's own: a write leaves the connection to its thread
  std::shared_ptr<Connection> connection_;
  std::atomic<bool> close_asked_ = false;
};

class ConnectionTunnel : public Tunnel {
 public:
  ConnectionTunnel(std::shared_ptr<Connection> connection, std::shared_ptr<StreamState> state)
      : connection_(std::move(connection)), state_(std::move(state)) {}

  void listen(TunnelEvents events) override {
    state_->on_bytes = std::move(events.bytes);
    state_->on_drained = std::move(events.drained);
    state_->on_closed = std::move(events.closed);
    connection_->resume_reading(state_);
  }
  void send(std::string bytes) override {
    if (bytes.empty() || state_->closed) return;
    state_->queued += bytes.size();
    connection_->add_frame(state_, std::make_shared<const std::string>(std::move(bytes)));
  }
  size_t queued() const override { return state_->queued; }
  void pause(bool paused) override {
    state_->paused = paused;
    if (!paused) connection_->resume_reading(state_);
  }
  void finish() override { connection_->linger(state_); }
  void close() override { connection_->end_stream(state_); }
  boost::asio::io_context& context() override { return connection_->io().context(); }

 private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<StreamState> state_;
};

}  // namespace

ConnectionResponder::~ConnectionResponder() {
  if (answered_) return;
  HttpResponse response;
  response.status = 500;
  response.headers = {{"Content-Type", "application/json"}};
  response.body = {std::make_shared<const std::string>(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"Internal error occurred: the request was dropped","reason":"InternalError","code":500})"
      "\n")};
  send(std::move(response));
}

void ConnectionResponder::send(HttpResponse response) {
  if (answered_.exchange(true)) return;
  connection_->io().post([connection = connection_, response = std::move(response)]() mutable {
    connection->respond(std::move(response));
  });
}

std::shared_ptr<HttpStream> ConnectionResponder::stream(int status, Headers headers) {
  auto state = std::make_shared<StreamState>();
  if (answered_.exchange(true)) {
    state->closed = true;
  } else if (!connection_->io().post(
                 [connection = connection_, state, status, headers = std::move(headers)] {
                   connection->open_stream(status, headers, state);
                 })) {
    state->closed = true;
  }
  return std::make_shared<ConnectionStream>(connection_, std::move(state));
}

void ConnectionResponder::upgrade(Headers headers,
                                  std::function<void(std::shared_ptr<Tunnel>)> use) {
  if (answered_.exchange(true)) return;
  connection_->io().post(
      [connection = connection_, headers = std::move(headers), use = std::move(use)] {
        auto state = std::make_shared<StreamState>();
        if (!connection->upgrade(headers, state)) return;
        use(std::make_shared<ConnectionTunnel>(connection, state));
      });
}

void ConnectionResponder::run_on_io(std::function<void()> task) {
  connection_->io().post(std::move(task));
}

}  // namespace yard
