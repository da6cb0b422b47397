#include "node/node_streams.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/files.h"
#include "node/shim_socket.h"

namespace yard {
namespace {

constexpr Duration kDialTimeout = std::chrono::seconds(10);
constexpr Duration kFlushPause = std::chrono::milliseconds(10);

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor nothing() {
  return Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
}

// Our end does not block; the process's end is a file of its own and does.
Descriptor ours(Descriptor end) {
  fcntl(end.get(), F_SETFL, O_NONBLOCK);
  return end;
}

Descriptor copy_of(const Descriptor& fd) {
  return Descriptor(fd.is_open() ? fcntl(fd.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

// The process's ends go into `launch`, ours come back.
Result<ProcessStreams> make_streams(const PodProcessRequest& request, CommandLaunch& launch) {
  ProcessStreams out;
  launch.in = nothing();
  launch.out = nothing();
  launch.err = nothing();
  if (request.input) {
    Pipe pipe = TRY(make_pipe());
    launch.in = std::move(pipe.read_end);
    out.input = ours(std::move(pipe.write_end));
  }
  if (request.output) {
    Pipe pipe = TRY(make_pipe());
    launch.out = std::move(pipe.write_end);
    out.output = ours(std::move(pipe.read_end));
  }
  if (request.errors) {
    Pipe pipe = TRY(make_pipe());
    launch.err = std::move(pipe.write_end);
    out.errors = ours(std::move(pipe.read_end));
  }
  return out;
}

}  // namespace

// A client at a container's own output: its log as it grows, and a socket that says when either
// side has gone.
struct NodeStreams::Attachment {
  std::string uid;
  Descriptor end;
  int streams = 0;
  bool left = false;
};

// Where the log's bytes go: into a pipe, as fast as the client takes them.
class NodeStreams::PipeSink : public PodLogSink, public std::enable_shared_from_this<PipeSink> {
 public:
  PipeSink(NodeStreams& owner, AttachmentPtr attachment, Descriptor pipe)
      : owner_(owner), attachment_(std::move(attachment)), pipe_(std::move(pipe)) {}

  size_t write(std::string bytes) override {
    queue_ += bytes;
    flush();
    return queue_.size();
  }
  void end() override {
    ended_ = true;
    flush();
  }
  bool is_gone() const override { return attachment_->left || !pipe_.is_open(); }

 private:
  void flush() {
    while (pipe_.is_open() && !queue_.empty()) {
      const ssize_t count = ::write(pipe_.get(), queue_.data(), queue_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return flush_later();
      if (count < 0) break;
      queue_.erase(0, static_cast<size_t>(count));
    }
    if (pipe_.is_open() && queue_.empty() && !ended_) return;
    if (!pipe_.is_open()) return;
    pipe_.reset();
    queue_.clear();
    if (--attachment_->streams > 0) return;
    // All is said. How a container ended is its status's business: attach itself went well.
    if (attachment_->end.is_open() && ended_)
      send(attachment_->end.get(), "exit 0", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
    owner_.leave(attachment_);
  }
  void flush_later() {
    if (std::exchange(waits_, true)) return;
    owner_.loop_.after(kFlushPause, [self = shared_from_this(), attachment = attachment_] {
      self->waits_ = false;
      if (!attachment->left) self->flush();
    });
  }

  NodeStreams& owner_;
  AttachmentPtr attachment_;
  Descriptor pipe_;
  std::string queue_;
  bool ended_ = false, waits_ = false;
};

NodeStreams::NodeStreams(Client& client, Loop& loop, RealPodRuntime& runtime)
    : loop_(loop), runtime_(runtime), logs_(client, loop, runtime) {}

NodeStreams::~NodeStreams() {
  while (!attachments_.empty())
    leave(*attachments_.begin());
}

void NodeStreams::read_log(PodLogRequest request,
                           std::function<Result<std::shared_ptr<PodLogSink>>()> open_sink,
                           std::function<void(Error)> failed) {
  logs_.read_log(std::move(request), std::move(open_sink), std::move(failed));
}

void NodeStreams::dial(std::string uid, int port, std::function<void(Result<int>)> done) {
  runtime_.dial(uid, "localhost", port, kDialTimeout, std::move(done));
}

void NodeStreams::exec(PodProcessRequest request,
                       std::function<void(Result<ProcessStreams>)> done) {
  CommandLaunch launch;
  launch.argv = std::move(request.argv);
  launch.terminal = request.terminal;
  auto made =
      request.terminal ? Result<ProcessStreams>(ProcessStreams()) : make_streams(request, launch);
  if (!made) return done(made.error());
  auto streams = std::make_shared<ProcessStreams>(std::move(*made));
  runtime_.start_command(
      request.uid, request.container, std::move(launch),
      [streams, wants_input = request.input, done](Result<StartedCommand> started) {
        if (!started) return done(started.error());
        streams->end = std::move(started->answers);
        if (started->terminal.is_open()) {
          if (wants_input) streams->input = copy_of(started->terminal);
          streams->output = copy_of(started->terminal);
          streams->terminal = std::move(started->terminal);
        }
        done(std::move(*streams));
      });
}

void NodeStreams::attach(PodProcessRequest request,
                         std::function<void(Result<ProcessStreams>)> done) {
  if (!request.input && !request.terminal) return done(follow_output(request, Descriptor()));
  runtime_.take_input(request.uid, request.container,
                      [this, request, done](Result<Descriptor> input) {
                        if (!input) return done(input.error());
                        done(follow_output(request, std::move(*input)));
                      });
}

Result<ProcessStreams> NodeStreams::follow_output(const PodProcessRequest& request,
                                                  Descriptor input) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return system_error("cannot make a socket");
  ProcessStreams out;
  out.end.reset(ends[0]);
  auto attachment = std::make_shared<Attachment>();
  attachment->uid = request.uid;
  attachment->end.reset(ends[1]);
  attachments_.insert(attachment);
  // The client says nothing here; what can be read is its end.
  loop_.on_readable(ends[1], [this, attachment] { leave(attachment); });
  if (isatty(input.get()) == 1) out.terminal = copy_of(input);
  if (request.input && input.is_open()) out.input = ours(std::move(input));
  attachment->streams = (request.output ? 1 : 0) + (request.errors ? 1 : 0);
  if (request.output) out.output = TRY(follow_stream(attachment, request, "stdout"));
  if (request.errors) out.errors = TRY(follow_stream(attachment, request, "stderr"));
  return out;
}

Result<Descriptor> NodeStreams::follow_stream(const AttachmentPtr& attachment,
                                              const PodProcessRequest& request,
                                              const char* stream) {
  Pipe pipe = TRY(make_pipe());
  PodLogRequest log;
  log.ns = request.ns;
  log.pod = request.pod;
  log.uid = request.uid;
  log.container = request.container;
  logs_.follow(std::move(log), stream,
               std::make_shared<PipeSink>(*this, attachment, ours(std::move(pipe.write_end))));
  return ours(std::move(pipe.read_end));
}

void NodeStreams::leave(const AttachmentPtr& attachment) {
  const AttachmentPtr kept = attachment;
  if (std::exchange(kept->left, true)) return;
  loop_.forget_readable(kept->end.get());
  kept->end.reset();
  attachments_.erase(kept);
  logs_.wake(kept->uid);
}

}  // namespace yard
