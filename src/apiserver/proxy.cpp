// pods/{name}/proxy and services/{name}/proxy: a request is sent on to a port of a pod, and its
// answer comes back as it comes. For looking at a page or a figure: the bytes go over the loop.

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "apiserver/exchange.h"
#include "apiserver/held_stream.h"
#include "apiserver/proxy_target.h"
#include "base/descriptor.h"
#include "base/strings.h"
#include "client/pod_streams.h"
#include "net/response_parser.h"
#include "net/unverified_tls.h"

namespace yard {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(60);  // its head
constexpr Duration kPause = std::chrono::milliseconds(10);    // while one side takes no more
constexpr size_t kMostQueued = 1 << 20;

// What belongs to one connection, or to our own door, does not go on.
bool stays_here(std::string_view header) {
  for (const std::string_view name :
       {"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "TE", "Trailer",
        "Upgrade", "Host", "Content-Length", "Authorization", "Expect"}) {
    if (equals_ignore_case(header, name)) return true;
  }
  return lower(header).starts_with("impersonate-");
}

std::string request_text(const HttpRequest& request, std::string_view path, int port) {
  std::string out = fmt::format("{} {}", request.method, path);
  if (!request.query().empty()) out += "?" + std::string(request.query());
  out += fmt::format(" HTTP/1.1\r\nHost: localhost:{}\r\n", port);
  for (const auto& [name, value] : request.headers) {
    if (!stays_here(name)) out += name + ": " + value + "\r\n";
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    out += fmt::format("Content-Length: {}\r\n", request.body.size());
  return out + "Connection: close\r\n\r\n" + request.body;
}

}  // namespace

// One request on its way through. Loop thread.
class ApiServer::Proxied : public std::enable_shared_from_this<Proxied> {
 public:
  Proxied(Loop& loop, ExchangePtr exchange, std::string prefix, std::shared_ptr<StreamHold> hold)
      : loop_(loop),
        exchange_(std::move(exchange)),
        hold_(std::move(hold)),
        prefix_(std::move(prefix)),
        parser_(exchange_->request.method == "HEAD",
                [this](std::string_view bytes) { return take_body(bytes); }) {}

  void begin(int fd, const std::string& request, bool tls) {
    fd_.reset(fd);
    if (tls) {
      tls_ = make_unverified_tls("localhost");
      tls_->write(request);
      output_ = tls_->take_output();
    } else {
      output_ = request;
    }
    timer_ = loop_.after(kAnswerWithin, [self = shared_from_this()] {
      self->timer_ = 0;
      self->fail("the pod did not answer in time");
    });
    loop_.on_readable(fd, [self = shared_from_this()] { self->read(); });
    write();
  }
  void cut() { fail("the right to reach it has ended"); }

 private:
  void write() {
    if (is_over_ || output_.empty()) return;
    const ssize_t sent =
        ::send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;  // its answer may be there already
    if (sent > 0) output_.erase(0, static_cast<size_t>(sent));
    if (output_.empty()) return;
    loop_.after(kPause, [self = shared_from_this()] { self->write(); });
  }

  void read() {
    if (is_over_) return;
    if (stream_ != nullptr && stream_->queued_bytes() > kMostQueued) return wait_for_client();
    char buffer[65536];
    const ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      const auto whole = parser_.finish();
      return whole || stream_ != nullptr ? finish() : fail(whole.error().message);
    }
    std::string plain(buffer, static_cast<size_t>(count));
    if (tls_) {
      const auto taken = tls_->receive(plain);
      plain = tls_->take_plain();
      output_ += tls_->take_output();
      write();
      if (!taken) return fail("tls: " + taken.error().message);
    }
    const auto more = parser_.feed(plain);
    if (!more) return fail(more.error().message);
    if (parser_.has_head() && stream_ == nullptr && !is_over_) open();
    if (!*more) finish();
  }

  // The client reads slower than the pod writes.
  void wait_for_client() {
    loop_.forget_readable(fd_.get());
    loop_.after(kPause, [self = shared_from_this()] {
      if (self->is_over_) return;
      self->loop_.on_readable(self->fd_.get(), [self] { self->read(); });
      self->read();
    });
  }

  void open() {
    loop_.cancel(std::exchange(timer_, 0));
    ClientResponse head = parser_.take_response();
    Headers headers;
    for (auto& [name, value] : head.headers) {
      if (stays_here(name)) continue;
      if (equals_ignore_case(name, "Location") && value.starts_with("/")) value = prefix_ + value;
      headers.emplace_back(std::move(name), std::move(value));
    }
    stream_ = exchange_->stream_as(head.status, std::move(headers));
    stream_->on_closed([self = shared_from_this()] { self->loop_.post([self] { self->end(); }); });
    if (!early_.empty())
      stream_->write(std::make_shared<const std::string>(std::exchange(early_, {})));
  }

  bool take_body(std::string_view bytes) {
    if (stream_ == nullptr) {
      early_ += bytes;
    } else {
      stream_->write(std::make_shared<const std::string>(bytes));
    }
    return true;
  }

  void finish() {
    if (is_over_) return;
    if (stream_ == nullptr) open();
    stream_->close();
    end();
  }
  void fail(const std::string& why) {
    if (is_over_) return;
    if (stream_ != nullptr) return finish();
    end();
    exchange_->fail(error(Reason::ServiceUnavailable, "error trying to reach the pod: " + why));
  }
  void end() {
    if (std::exchange(is_over_, true)) return;
    loop_.cancel(timer_);
    loop_.forget_readable(fd_.get());
    fd_.reset();
    hold_.reset();
  }

  Loop& loop_;
  ExchangePtr exchange_;
  std::shared_ptr<StreamHold> hold_;
  std::string prefix_;  // of our own path
  ResponseParser parser_;
  Descriptor fd_;
  std::unique_ptr<TlsStream> tls_;
  std::shared_ptr<HttpStream> stream_;
  std::string output_, early_;
  TimerId timer_ = 0;
  bool is_over_ = false;
};

void ApiServer::proxy(const ExchangePtr& exchange) {
  exchange->labels.verb = "CONNECT";
  auto name = parse_proxy_name(exchange->path.name);
  if (!name) return exchange->fail(name.error());
  const std::string_view whole = exchange->request.path();
  const std::string path(proxied_path(whole));
  const std::string prefix(whole.substr(0, whole.size() - path.size()));
  if (path.empty()) {  // relative links of the page need the slash
    HttpResponse moved;
    moved.status = 301;
    moved.headers = {{"Location", prefix + "/"}};
    return exchange->finish(std::move(moved));
  }
  if (!exchange->request.header("Upgrade").empty())
    return exchange->fail(error(Reason::BadRequest,
                                "the proxy carries plain requests; use `kubectl port-forward` for "
                                "connections that leave HTTP"));
  loop_.post([this, exchange, name = std::move(*name), path, prefix] {
    const ObjectPtr object = store_.get(Key{exchange->kind->storage, exchange->path.ns, name.name});
    if (object == nullptr) return exchange->fail(not_found_error(*exchange->kind, name.name));
    if (pod_streams_ == nullptr)
      return exchange->fail(error(Reason::ServiceUnavailable, "no node agent runs in this server"));
    auto place = proxy_place(*exchange->kind, *object, name.port);
    if (!place) return exchange->fail(place.error());
    auto hold = take_stream(exchange);
    if (hold == nullptr) return;
    auto proxied = std::make_shared<Proxied>(loop_, exchange, prefix, hold);
    hold->keep(rights_.hold(stream_rights(exchange), [weak = std::weak_ptr(proxied)] {
      if (const auto open = weak.lock()) open->cut();
    }));
    std::string request = request_text(exchange->request, path, place->port);
    pod_streams_->dial(
        place->pod_uid, place->port,
        [exchange, proxied, request = std::move(request), tls = name.tls,
         port = place->port](const Result<int>& fd) {
          if (fd) return proxied->begin(*fd, request, tls);
          exchange->fail(error(Reason::ServiceUnavailable,
                               fmt::format("error trying to reach service: dial tcp :{}: {}", port,
                                           fd.error().message)));
        });
  });
}

Result<ServicePlace> ApiServer::proxy_place(const Kind& kind, const Object& object,
                                            const std::string& port) {
  const Json tree = object.tree();
  if (kind.plural == "services") {
    const ObjectPtr behind =
        store_.get(Key{"endpoints", std::string(object.ns()), std::string(object.name())});
    return service_place(tree, behind != nullptr ? behind->tree() : Json(), port,
                         loop_.random().below(1 << 20));
  }
  if (text_at(tree, {"status", "phase"}) != "Running")
    return error(Reason::ServiceUnavailable,
                 fmt::format("pod {} is not running", quoted(object.name())));
  return ServicePlace{std::string(object.uid()), TRY(pod_port(tree, port))};
}

}  // namespace yard
