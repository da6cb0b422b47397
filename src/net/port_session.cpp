#include "net/port_session.h"

#include <fcntl.h>
#include <map>
#include <sys/socket.h>

#include "base/strings.h"
#include "net/channels.h"
#include "net/descriptor_io.h"

namespace yard {
namespace {

constexpr size_t kMostQueued = 256 * 1024;  // in either direction
constexpr size_t kMostPairsWaiting = 256;
constexpr auto kPairTimeout = std::chrono::seconds(30);

std::string header(const std::vector<std::pair<std::string, std::string>>& headers,
                   std::string_view wanted) {
  for (const auto& [name, value] : headers) {
    if (equals_ignore_case(name, wanted)) return value;
  }
  return "";
}

class PortChannels : public ChannelUser, public std::enable_shared_from_this<PortChannels> {
 public:
  PortChannels(PortSession session, std::shared_ptr<Responder> responder)
      : session_(std::move(session)), responder_(std::move(responder)) {}

  void begin(std::shared_ptr<Channels> channels, bool client_opens) {
    channels_ = std::move(channels);
    channels_->listen(shared_from_this());
    if (client_opens) return;
    for (size_t i = 0; i < session_.ports.size(); ++i) {
      const int port = session_.ports[i], data = static_cast<int>(2 * i);
      const char name[] = {static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
      for (const int channel : {data, data + 1})
        channels_->send(channel, std::string_view(name, 2));
      connect(data, data + 1, port);
    }
  }

  bool on_opened(int channel,
                 const std::vector<std::pair<std::string, std::string>>& headers) override {
    const std::string type = header(headers, "streamtype");
    const auto port = parse_int64(header(headers, "port"));
    if (!port || *port < 1 || *port > 65535 || (type != "data" && type != "error")) return false;
    std::string request = header(headers, "requestid");
    // Clients from before the header open the pair one after the other, the error stream first.
    if (request.empty()) request = std::to_string(type == "error" ? channel : channel - 2);
    auto& pair = waiting_[request];
    int& place = type == "data" ? pair.data : pair.error;
    if (place >= 0) return false;
    place = channel;
    if (pair.data >= 0 && pair.error >= 0) {
      const Waiting whole = std::move(waiting_.extract(request).mapped());
      connect(whole.data, whole.error, static_cast<int>(*port));
      return true;
    }
    if (waiting_.size() > kMostPairsWaiting) {
      waiting_.erase(request);
      return false;
    }
    pair.timer = std::make_shared<boost::asio::steady_timer>(channels_->context());
    pair.timer->expires_after(kPairTimeout);
    pair.timer->async_wait([self = shared_from_this(), request, channel](const auto& code) {
      if (code || self->closed_) return;
      self->waiting_.erase(request);
      self->channels_->forget(channel);
    });
    return true;
  }
  void on_bytes(int channel, std::string_view bytes) override {
    const auto found = links_.find(channel);
    if (found == links_.end()) return;  // an error stream, or one that is over
    Link& link = *found->second;
    if (link.writer) {
      link.writer->write(bytes);
    } else if (!link.is_connected) {
      link.early.append(bytes);
    }
    if (link.early.size() + (link.writer ? link.writer->queued() : 0) > kMostQueued)
      hold_client(link, true);
  }
  void on_end(int channel) override {
    const auto found = links_.find(channel);
    if (found == links_.end()) return;
    found->second->client_ended = true;
    end_writing(found->second);
  }
  void on_drained() override {
    std::vector<std::shared_ptr<DescriptorReader>> readers;
    for (const auto& [channel, link] : links_) {
      if (link->reader) readers.push_back(link->reader);
    }
    for (const auto& reader : readers)
      reader->resume();
  }
  void on_closed() override {
    closed_ = true;
    for (auto& [request, pair] : waiting_)
      if (pair.timer) pair.timer->cancel();
    waiting_.clear();
    for (const auto& [channel, link] : links_)
      drop(*link);
    links_.clear();
  }

 private:
  struct Waiting {
    int data = -1, error = -1;
    std::shared_ptr<boost::asio::steady_timer> timer;
  };
  struct Link {
    int data = -1, error = -1, port = 0;
    std::shared_ptr<DescriptorReader> reader;
    std::shared_ptr<DescriptorWriter> writer;
    std::string early;
    bool is_connected = false, client_ended = false, pod_ended = false, written = false;
    bool holds_client = false;
  };
  using LinkPtr = std::shared_ptr<Link>;

  void connect(int data, int error, int port) {
    auto link = std::make_shared<Link>();
    link->data = data;
    link->error = error;
    link->port = port;
    links_[data] = link;
    session_.dial(port, [self = shared_from_this(), link](Result<int> fd) {
      auto kept = std::make_shared<Result<int>>(std::move(fd));
      self->responder_->run_on_io([self, link, kept] { self->attach(link, *kept); });
    });
  }

  void attach(const LinkPtr& link, const Result<int>& fd) {
    Descriptor socket(fd ? *fd : -1);
    if (closed_ || links_.find(link->data) == links_.end()) return;
    if (!fd) {
      channels_->send(link->error, fd.error().message);
      return end(link);
    }
    link->is_connected = true;
    const auto self = shared_from_this();
    Descriptor second(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    link->writer = std::make_shared<DescriptorWriter>(
        channels_->context(), std::move(second),
        DescriptorWriter::Events{[self, link] { self->hold_client(*link, false); },
                                 [self, link] { self->end(link); }});
    link->reader = std::make_shared<DescriptorReader>(
        channels_->context(), std::move(socket),
        DescriptorReader::Events{[self, link](std::string_view bytes) {
                                   if (self->closed_) return false;
                                   self->channels_->send(link->data, bytes);
                                   return self->channels_->queued() < kMostQueued;
                                 },
                                 [self, link] {
                                   link->pod_ended = true;
                                   // Some clients wait for the error stream's end before they
                                   // close their own side.
                                   self->channels_->end(link->data);
                                   self->channels_->end(link->error);
                                   self->end_when_both(link);
                                 }});
    link->writer->write(std::exchange(link->early, {}));
    if (link->client_ended) end_writing(link);
    if (link->reader) link->reader->resume();
  }

  void end_writing(const LinkPtr& link) {
    if (!link->writer || link->written) return;
    link->written = true;
    link->writer->finish([](int fd) { ::shutdown(fd, SHUT_WR); });
    end_when_both(link);
  }
  // Half a connection may go on for as long as it likes. Once the pod has closed its side and the
  // client too, nothing more can come.
  void end_when_both(const LinkPtr& link) {
    if (link->pod_ended && link->client_ended) end(link);
  }
  void end(const LinkPtr& link) {
    if (closed_) return;
    channels_->forget(link->data);
    channels_->forget(link->error);
    drop(*link);
    links_.erase(link->data);
  }
  void drop(Link& link) {
    hold_client(link, false);
    if (link.reader) link.reader->close();
    if (link.writer) link.writer->close();
    link.reader.reset();
    link.writer.reset();
  }
  // One slow port holds the whole client back: the protocol has no window for a single stream.
  void hold_client(Link& link, bool held) {
    if (closed_ || link.holds_client == held) return;
    link.holds_client = held;
    holders_ += held ? 1 : -1;
    if (held ? holders_ == 1 : holders_ == 0) channels_->pause(held);
  }

  PortSession session_;
  std::shared_ptr<Responder> responder_;
  std::shared_ptr<Channels> channels_;
  std::map<std::string, Waiting> waiting_;  // by request id
  std::map<int, LinkPtr> links_;            // by data channel
  int holders_ = 0;
  bool closed_ = false;
};

}  // namespace

void run_port_session(const Upgrade& upgrade, const std::shared_ptr<Responder>& responder,
                      PortSession session) {
  auto user = std::make_shared<PortChannels>(std::move(session), responder);
  responder->upgrade(upgrade.headers, [user, wire = upgrade.wire](std::shared_ptr<Tunnel> tunnel) {
    if (wire == Upgrade::Wire::WebSocket)
      return user->begin(make_websocket_channels(std::move(tunnel)), false);
    if (wire == Upgrade::Wire::SpdyInWebSocket) tunnel = make_websocket_tunnel(std::move(tunnel));
    user->begin(make_spdy_channels(std::move(tunnel)), true);
  });
}

}  // namespace yard
