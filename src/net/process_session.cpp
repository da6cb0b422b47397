#include "net/process_session.h"

#include <algorithm>
#include <charconv>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/strings.h"
#include "net/channels.h"
#include "net/descriptor_io.h"

namespace yard {
namespace {

constexpr size_t kMostQueued = 256 * 1024;  // in either direction
constexpr size_t kMostSizeText = 4096;
constexpr auto kStreamsTimeout = std::chrono::seconds(30);

// A number that is the value of that member, in an object without nesting.
int member_number(std::string_view object, std::string_view name) {
  const size_t at = object.find("\"" + std::string(name) + "\"");
  if (at == std::string_view::npos) return 0;
  const size_t digit = object.find_first_of("0123456789", at + name.size() + 2);
  int out = 0;
  if (digit != std::string_view::npos)
    std::from_chars(object.data() + digit, object.data() + object.size(), out);
  return out;
}

class ProcessChannels : public ChannelUser, public std::enable_shared_from_this<ProcessChannels> {
 public:
  ProcessChannels(ProcessSession session, std::shared_ptr<Responder> responder)
      : session_(std::move(session)), responder_(std::move(responder)) {}

  void begin(std::shared_ptr<Channels> channels, bool client_opens) {
    channels_ = std::move(channels);
    deadline_.emplace(channels_->context());
    channels_->listen(shared_from_this());
    if (client_opens) {
      deadline_->expires_after(kStreamsTimeout);
      deadline_->async_wait([self = shared_from_this()](const auto& code) {
        if (!code && !self->started_) self->leave();
      });
      return;
    }
    in_ = 0, out_ = 1, err_ = 2, status_ = 3, size_ = 4;
    // Tells the client that the stream is live.
    if (session_.output || session_.errors) channels_->send(session_.output ? out_ : err_, {});
    start();
  }

  bool on_opened(int channel,
                 const std::vector<std::pair<std::string, std::string>>& headers) override {
    int* const place = place_of(headers);
    if (place == nullptr || *place >= 0) return false;
    *place = channel;
    const bool ready = status_ >= 0 && (in_ >= 0 || !session_.input) &&
                       (out_ >= 0 || !session_.output) && (err_ >= 0 || !session_.errors) &&
                       (size_ >= 0 || !session_.terminal);
    if (ready) start();
    return true;
  }
  void on_bytes(int channel, std::string_view bytes) override {
    if (channel == in_ && session_.input && !input_ended_) return take_input(bytes);
    if (channel != size_ || !session_.terminal) return;
    size_text_.append(bytes);
    if (const auto size = take_terminal_size(size_text_)) set_size(*size);
  }
  void on_end(int channel) override {
    if (channel != in_ || std::exchange(input_ended_, true)) return;
    end_input();
  }
  void on_drained() override {
    for (const auto& reader : {output_, errors_}) {
      if (reader) reader->resume();
    }
  }
  void on_closed() override {
    closed_ = true;
    deadline_->cancel();
    drop();
  }

 private:
  int* place_of(const std::vector<std::pair<std::string, std::string>>& headers) {
    for (const auto& [name, value] : headers) {
      if (!equals_ignore_case(name, "streamtype")) continue;
      if (value == "stdin") return &in_;
      if (value == "stdout") return &out_;
      if (value == "stderr") return &err_;
      if (value == "error") return &status_;
      if (value == "resize") return &size_;
    }
    return nullptr;
  }

  void start() {
    if (std::exchange(started_, true)) return;
    deadline_->cancel();
    session_.start([self = shared_from_this()](Result<ProcessStreams> streams) {
      auto kept = std::make_shared<Result<ProcessStreams>>(std::move(streams));
      self->responder_->run_on_io([self, kept] { self->attach(std::move(*kept)); });
    });
  }

  void attach(Result<ProcessStreams> streams) {
    if (closed_) return;  // the descriptors close: the process is left
    if (!streams) return finish({0, streams.error().message});
    auto& context = channels_->context();
    const auto self = shared_from_this();
    output_ = reader(std::move(streams->output), out_);
    errors_ = reader(std::move(streams->errors), err_);
    terminal_ = std::move(streams->terminal);
    if (streams->input.is_open()) {
      input_ = std::make_shared<DescriptorWriter>(
          context, std::move(streams->input),
          DescriptorWriter::Events{[self] { self->hold_client(false); },
                                   [self] { self->hold_client(false); }});
      input_->write(std::exchange(early_input_, {}));
    }
    no_input_ = input_ == nullptr;
    end_ = std::make_shared<DescriptorReader>(
        context, std::move(streams->end),
        DescriptorReader::Events{[self](std::string_view bytes) {
                                   self->end_text_ = bytes;
                                   return true;
                                 },
                                 [self] { self->on_process_end(); }});
    if (size_seen_) set_size(*size_seen_);
    if (input_ended_) end_input();
    for (const auto& each : {output_, errors_, end_}) {
      if (each) each->resume();
    }
  }

  std::shared_ptr<DescriptorReader> reader(Descriptor fd, int channel) {
    if (!fd.is_open()) return nullptr;
    const auto self = shared_from_this();
    return std::make_shared<DescriptorReader>(
        channels_->context(), std::move(fd),
        DescriptorReader::Events{[self, channel](std::string_view bytes) {
                                   if (self->closed_) return false;
                                   self->channels_->send(channel, bytes);
                                   return self->channels_->queued() < kMostQueued;
                                 },
                                 [self] { self->finish_when_read(); }});
  }

  void take_input(std::string_view bytes) {
    if (no_input_) return;
    if (input_ == nullptr) {  // the process is on its way
      early_input_.append(bytes);
    } else {
      input_->write(bytes);
    }
    if (early_input_.size() + (input_ ? input_->queued() : 0) > kMostQueued) hold_client(true);
  }
  void hold_client(bool held) {
    if (closed_ || held_client_ == held) return;
    held_client_ = held;
    channels_->pause(held);
  }
  // A terminal has no end of input; what is typed is.
  void end_input() {
    if (input_ == nullptr || terminal_.is_open()) return;
    input_->finish([input = input_](int) { input->close(); });
  }

  void set_size(const TerminalSize& size) {
    size_seen_ = size;
    if (!terminal_.is_open()) return;
    winsize window{};
    window.ws_col = static_cast<unsigned short>(std::clamp(size.columns, 1, 65535));
    window.ws_row = static_cast<unsigned short>(std::clamp(size.rows, 1, 65535));
    ioctl(terminal_.get(), TIOCSWINSZ, &window);
  }

  // The last words of the process are in its pipes already; what it left running may hold them
  // open.
  void on_process_end() {
    ended_ = true;
    for (const auto& each : {output_, errors_}) {
      if (each) each->read_rest();
    }
    finish_when_read();
  }
  void finish_when_read() {
    const auto is_read = [](const auto& each) { return !each || each->has_ended(); };
    if (!ended_ || !is_read(output_) || !is_read(errors_)) return;
    ProcessEnd end;
    if (const auto code = end_text_.starts_with("exit ")
                              ? parse_int64(std::string_view(end_text_).substr(5))
                              : std::nullopt) {
      end.code = static_cast<int>(*code);
    } else {
      end.failure = end_text_.starts_with("failed ") ? end_text_.substr(7)
                                                     : "the process was lost with its keeper";
    }
    finish(end);
  }

  void finish(const ProcessEnd& end) {
    if (closed_ || std::exchange(finished_, true)) return;
    for (const int channel : {out_, err_})
      channels_->end(channel);
    if (const std::string text = session_.status(end); !text.empty())
      channels_->send(status_, text);
    for (const int channel : {status_, in_, size_})
      channels_->end(channel);
    drop();
    hold_client(false);
    channels_->finish();
  }
  void leave() { channels_->close(); }

  void drop() {
    no_input_ = true;
    early_input_.clear();
    if (input_) input_->close();
    for (const auto& each : {output_, errors_, end_}) {
      if (each) each->close();
    }
    terminal_.reset();
    input_.reset();
    output_.reset(), errors_.reset(), end_.reset();
  }

  ProcessSession session_;
  std::shared_ptr<Responder> responder_;
  std::shared_ptr<Channels> channels_;
  std::optional<boost::asio::steady_timer> deadline_;
  int in_ = -1, out_ = -1, err_ = -1, status_ = -1, size_ = -1;  // channels
  std::shared_ptr<DescriptorReader> output_, errors_, end_;
  std::shared_ptr<DescriptorWriter> input_;
  Descriptor terminal_;
  std::string early_input_, size_text_, end_text_;
  std::optional<TerminalSize> size_seen_;
  bool started_ = false, ended_ = false, finished_ = false, closed_ = false, held_client_ = false;
  bool input_ended_ = false, no_input_ = false;
};

}  // namespace

std::optional<TerminalSize> take_terminal_size(std::string& text) {
  std::optional<TerminalSize> out;
  size_t end = text.find('}');
  for (; end != std::string::npos; end = text.find('}')) {
    const std::string_view object = std::string_view(text).substr(0, end);
    const TerminalSize size{member_number(object, "Width"), member_number(object, "Height")};
    if (size.columns > 0 && size.rows > 0) out = size;
    text.erase(0, end + 1);
  }
  if (text.size() > kMostSizeText) text.clear();
  return out;
}

void run_process_session(const Upgrade& upgrade, const std::shared_ptr<Responder>& responder,
                         ProcessSession session) {
  auto user = std::make_shared<ProcessChannels>(std::move(session), responder);
  responder->upgrade(upgrade.headers, [user, wire = upgrade.wire](std::shared_ptr<Tunnel> tunnel) {
    const bool spdy = wire == Upgrade::Wire::Spdy;
    user->begin(
        spdy ? make_spdy_channels(std::move(tunnel)) : make_websocket_channels(std::move(tunnel)),
        spdy);
  });
}

}  // namespace yard
