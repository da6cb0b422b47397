#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "net/channels.h"
#include "net/spdy.h"

namespace yard {
namespace {

constexpr size_t kMostStreams = 2048;
constexpr uint32_t kRefused = 3;

class SpdyChannels : public Channels, public std::enable_shared_from_this<SpdyChannels> {
 public:
  explicit SpdyChannels(std::shared_ptr<Tunnel> tunnel) : tunnel_(std::move(tunnel)) {}

  void listen(std::shared_ptr<ChannelUser> user) override {
    user_ = std::move(user);
    auto self = shared_from_this();
    tunnel_->listen({[self](std::string_view bytes) { self->read(bytes); },
                     [self] { self->user_->on_drained(); },
                     [self] { std::exchange(self->user_, nullptr)->on_closed(); }});
  }
  void send(int channel, std::string_view bytes) override {
    const auto found = streams_.find(channel);
    if (found == streams_.end() || found->second.ended) return;
    tunnel_->send(SpdyWriter::data(static_cast<uint32_t>(channel), bytes, false));
  }
  void end(int channel) override {
    const auto found = streams_.find(channel);
    if (found == streams_.end() || std::exchange(found->second.ended, true)) return;
    tunnel_->send(SpdyWriter::data(static_cast<uint32_t>(channel), {}, true));
  }
  void forget(int channel) override {
    end(channel);
    streams_.erase(channel);
  }
  size_t queued() const override { return tunnel_->queued(); }
  void pause(bool paused) override { tunnel_->pause(paused); }
  void finish() override { tunnel_->finish(); }
  void close() override { tunnel_->close(); }
  boost::asio::io_context& context() override { return tunnel_->context(); }

 private:
  struct Stream {
    bool ended = false;         // by us
    bool client_ended = false;  // by the client
  };

  void read(std::string_view bytes) {
    while (user_ != nullptr) {
      auto event = reader_.next(bytes);
      if (!event) return;
      take(*event);
    }
  }
  void take(const SpdyEvent& event) {
    const int channel = static_cast<int>(event.stream);
    switch (event.type) {
      case SpdyEvent::Type::Opened: return open(channel, event);
      case SpdyEvent::Type::Data: {
        const auto found = streams_.find(channel);
        if (found == streams_.end() || found->second.client_ended) return;
        if (!event.bytes.empty()) user_->on_bytes(channel, event.bytes);
        if (event.is_last) end_by_client(channel);
        return;
      }
      case SpdyEvent::Type::Reset:
        if (const auto found = streams_.find(channel); found != streams_.end()) {
          found->second.ended = true;
          end_by_client(channel);
        }
        return;
      case SpdyEvent::Type::Ping:
        if (event.stream % 2 == 1) tunnel_->send(SpdyWriter::ping(event.stream));
        return;
      case SpdyEvent::Type::Replied:
      case SpdyEvent::Type::GoAway: return;  // the client closes when it is done
      case SpdyEvent::Type::Broken:
        log_debug("a SPDY client: {}", event.bytes);
        tunnel_->close();
        return;
    }
  }
  void open(int channel, const SpdyEvent& event) {
    // Only ids a client gives, each once and growing.
    const bool possible = channel > newest_ && channel % 2 == 1 && streams_.size() < kMostStreams;
    newest_ = std::max(newest_, channel);
    if (possible) {
      streams_.emplace(channel, Stream{});
      tunnel_->send(writer_.reply(event.stream));
      if (user_->on_opened(channel, event.headers)) {
        if (event.is_last) end_by_client(channel);
        return;
      }
      streams_.erase(channel);
    }
    tunnel_->send(SpdyWriter::reset(event.stream, kRefused));
  }
  void end_by_client(int channel) {
    const auto found = streams_.find(channel);
    if (found == streams_.end() || std::exchange(found->second.client_ended, true)) return;
    user_->on_end(channel);
  }

  std::shared_ptr<Tunnel> tunnel_;
  std::shared_ptr<ChannelUser> user_;
  SpdyReader reader_;
  SpdyWriter writer_;
  std::map<int, Stream> streams_;
  int newest_ = 0;
};

}  // namespace

std::shared_ptr<Channels> make_spdy_channels(std::shared_ptr<Tunnel> tunnel) {
  return std::make_shared<SpdyChannels>(std::move(tunnel));
}

}  // namespace yard
