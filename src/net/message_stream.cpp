#include "net/message_stream.h"

#include <atomic>

namespace yard {
namespace {

class MessageStream : public HttpStream, public std::enable_shared_from_this<MessageStream> {
 public:
  MessageStream(std::shared_ptr<Responder> responder, MessageForm form)
      : responder_(std::move(responder)), form_(form) {}

  void begin(std::shared_ptr<Tunnel> tunnel) {
    tunnel_ = make_websocket_tunnel(std::move(tunnel), form_);
    tunnel_->listen({[](std::string_view) {}, [self = shared_from_this()] { self->in_tunnel_ = 0; },
                     [self = shared_from_this()] { self->leave(); }});
    // Tells the client that the stream is live; a text has to be JSON.
    if (form_ == MessageForm::Binary) tunnel_->send("");
    for (const SharedBytes& bytes : std::exchange(early_, {}))
      send(*bytes);
    if (ended_) tunnel_->finish();
  }

  void write(SharedBytes bytes) override {
    waiting_ += bytes->size();
    responder_->run_on_io([self = shared_from_this(), bytes = std::move(bytes)] {
      if (self->is_gone_ || self->ended_) return;
      if (self->tunnel_ == nullptr) return self->early_.push_back(bytes);
      self->send(*bytes);
    });
  }
  void close() override {
    responder_->run_on_io([self = shared_from_this()] {
      self->ended_ = true;
      if (self->tunnel_ != nullptr && !self->is_gone_) self->tunnel_->finish();
    });
  }
  size_t queued_bytes() const override { return waiting_ + in_tunnel_; }
  void on_closed(std::function<void()> callback) override {
    responder_->run_on_io([self = shared_from_this(), callback = std::move(callback)] {
      if (self->is_gone_) return callback();
      self->on_closed_ = callback;
    });
  }
  // The client has gone, maybe before it was answered. I/O thread.
  void leave() {
    is_gone_ = true;
    tunnel_ = nullptr;
    early_.clear();
    if (auto tell = std::exchange(on_closed_, nullptr)) tell();
  }
  bool has_begun() const { return tunnel_ != nullptr || is_gone_; }

 private:
  void send(const std::string& bytes) {
    waiting_ -= bytes.size();
    if (!bytes.empty()) tunnel_->send(bytes);
    in_tunnel_ = tunnel_->queued();
  }

  std::shared_ptr<Responder> responder_;
  const MessageForm form_;
  std::atomic<size_t> waiting_ = 0, in_tunnel_ = 0;
  // Of the I/O thread.
  std::shared_ptr<Tunnel> tunnel_;
  std::vector<SharedBytes> early_;
  bool ended_ = false, is_gone_ = false;
  std::function<void()> on_closed_;
};

}  // namespace

std::shared_ptr<HttpStream> stream_messages(const Upgrade& upgrade,
                                            const std::shared_ptr<Responder>& responder,
                                            MessageForm form) {
  auto stream = std::make_shared<MessageStream>(responder, form);
  // Nobody calls back for a client that has gone: then the callback's own end says so.
  auto unanswered = std::shared_ptr<void>(nullptr, [stream](void*) {
    if (!stream->has_begun()) stream->leave();
  });
  responder->upgrade(upgrade.headers,
                     [stream, unanswered = std::move(unanswered)](std::shared_ptr<Tunnel> tunnel) {
                       stream->begin(std::move(tunnel));
                     });
  return stream;
}

}  // namespace yard
