#include "net/web_client.h"

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "net/outgoing.h"
#include "net/response_parser.h"
#include "net/wire.h"

namespace yard {
namespace {

constexpr size_t kMostIdle = 8;

WireDeadline from_now(Duration length) {
  return WireClock::now() + std::chrono::duration_cast<WireClock::duration>(length);
}

std::string basic_authorization(std::string_view user_and_password) {
  return "Basic " + base64_encode(user_and_password);
}

std::string request_bytes(const WebRequest& request, const WebProxy& proxy) {
  std::string text;
  text.reserve(1024 + request.body.size());
  const WebUrl& url = request.url;
  const bool says_all = !proxy.host.empty() && !url.is_tls;  // a proxy must hear the whole address
  fmt::format_to(std::back_inserter(text), "{} {}{} HTTP/1.1\r\n", request.method,
                 says_all ? url.origin() : "", url.target);
  std::string host = authority(url.host, url.port);
  // Servers that sign or compare names expect the usual port to be left out.
  if (url.port == (url.is_tls ? 443 : 80)) host.erase(host.rfind(':'));
  append_header(text, "Host", host);
  append_header(text, "User-Agent", "trainyard");
  if (says_all && !proxy.user_and_password.empty())
    append_header(text, "Proxy-Authorization", basic_authorization(proxy.user_and_password));
  for (const auto& [name, value] : request.headers)
    append_header(text, name, value);
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
    append_header(text, "Content-Length", std::to_string(request.body.size()));
  text += "\r\n";
  text += request.body;
  return text;
}

// Where the body of one answer goes; what went wrong there outlives the parser's yes or no.
class Receiver {
 public:
  Receiver(const WebRequest& request, const WebSinkChooser& sinks)
      : request_(request),
        sinks_(sinks),
        parser_(request.method == "HEAD", [this](auto bytes) { return take(bytes); }) {}

  ResponseParser& parser() { return parser_; }
  const std::optional<Error>& failure() const { return failure_; }
  ClientResponse take_response() {
    ClientResponse response = parser_.take_response();
    response.body = std::move(kept_);
    return response;
  }

 private:
  bool take(std::string_view bytes) {
    if (!head_) {
      head_ = parser_.take_response();
      if (sinks_) sink_ = sinks_(*head_);
    }
    if (sink_) {
      Result<void> taken = sink_(bytes);
      if (!taken) failure_ = std::move(taken).error();
      return !failure_;
    }
    const size_t room = request_.most_kept - kept_.size();
    kept_.append(bytes.substr(0, room));
    if (bytes.size() <= room) return true;
    if (head_->status < 400)
      failure_ = error(Reason::RequestEntityTooLarge,
                       fmt::format("the answer of {} is larger than {} bytes", request_.url.host,
                                   request_.most_kept));
    return false;
  }

  const WebRequest& request_;
  const WebSinkChooser& sinks_;
  std::optional<ClientResponse> head_;
  WebSink sink_;
  std::string kept_;
  std::optional<Error> failure_;
  ResponseParser parser_;
};

class PoolingWebClient : public WebClient {
 public:
  PoolingWebClient(ProxySettings proxies, WebTimeouts timeouts)
      : proxies_(std::move(proxies)), timeouts_(timeouts) {}

  Result<ClientResponse> call(const WebRequest& request, const WebSinkChooser& sinks) override {
    const WebProxy proxy = TRY(proxy_for(request.url, proxies_));
    const Key key{request.url.origin(), request.trust};
    std::unique_ptr<Wire> wire = take_idle(key);
    bool kept = wire != nullptr;
    const std::string bytes = request_bytes(request, proxy);
    while (true) {
      if (!wire) wire = TRY(opened(request, proxy));
      Receiver receiver(request, sinks);
      bool answered = false;
      Result<void> done = converse(*wire, bytes, receiver, answered);
      if (receiver.failure()) return *receiver.failure();
      if (done) {
        const ResponseParser& parser = receiver.parser();
        if (receiver.parser().is_whole() && parser.wants_keep_alive()) keep(key, std::move(wire));
        return receiver.take_response();
      }
      // A kept connection may have been closed while it lay idle: once more, on a new one.
      if (!kept || answered || done.error().reason == Reason::Timeout)
        return named(std::move(done).error(), request.url);
      kept = false;
      wire.reset();
    }
  }

 private:
  using Key = std::pair<std::string, WebTrust>;

  static Error named(Error failure, const WebUrl& url) {
    failure.message = fmt::format("{}: {}", authority(url.host, url.port), failure.message);
    return failure;
  }

  Result<void> converse(Wire& wire, const std::string& bytes, Receiver& receiver, bool& answered) {
    const WireDeadline head_deadline = from_now(timeouts_.head);
    // A server that refuses may answer and close while we still send: what it said counts.
    Result<void> sent = wire.send(bytes, head_deadline);
    if (!sent && sent.error().reason == Reason::Timeout) return sent;
    while (true) {
      const WireDeadline deadline =
          receiver.parser().has_head() ? from_now(timeouts_.silence) : head_deadline;
      Result<std::string_view> received = wire.receive(deadline);
      if (!received) return sent ? Result<void>(std::move(received).error()) : sent;
      if (received->empty()) return receiver.parser().finish();
      answered = true;
      const bool more = TRY(receiver.parser().feed(*received));
      if (!more) return {};
    }
  }

  Result<std::unique_ptr<Wire>> opened(const WebRequest& request, const WebProxy& proxy) {
    auto wire = open(request, proxy);
    if (!wire && wire.error().reason == Reason::Timeout) {
      Error failure = named(std::move(wire).error(), request.url);
      failure.details.causes.push_back({"Unreachable", "", ""});
      return failure;
    }
    return wire;
  }

  Result<std::unique_ptr<Wire>> open(const WebRequest& request, const WebProxy& proxy) {
    const WireDeadline deadline = from_now(timeouts_.connect);
    const WebUrl& url = request.url;
    const bool direct = proxy.host.empty();
    const int fd =
        TRY(connect_tcp(direct ? url.host : proxy.host, direct ? url.port : proxy.port, deadline));
    auto wire = std::make_unique<Wire>(fd);
    wire->speak_plain();
    if (!url.is_tls) return wire;
    if (!direct) TRY(open_tunnel(*wire, url, proxy, deadline));
    SSL_CTX* context = TRY(context_for(request.trust));
    TRY(wire->speak_tls(context, {url.host, url.port}, deadline));
    return wire;
  }

  static Result<void> open_tunnel(Wire& wire, const WebUrl& url, const WebProxy& proxy,
                                  const WireDeadline& deadline) {
    const std::string where = authority(url.host, url.port);
    std::string text = fmt::format("CONNECT {} HTTP/1.1\r\n", where);
    append_header(text, "Host", where);
    if (!proxy.user_and_password.empty())
      append_header(text, "Proxy-Authorization", basic_authorization(proxy.user_and_password));
    text += "\r\n";
    TRY(wire.send(text, deadline));
    ResponseParser parser(true, {});
    while (!parser.has_head()) {
      const std::string_view bytes = TRY(wire.receive(deadline));
      if (bytes.empty()) TRY(parser.finish());
      TRY(parser.feed(bytes));
    }
    const int status = parser.take_response().status;
    if (status / 100 == 2) return {};
    return error(Reason::ServiceUnavailable,
                 fmt::format("the proxy {} does not lead to {}: it answers {}",
                             authority(proxy.host, proxy.port), where, status));
  }

  // Reading the system's authorities costs milliseconds: one context a way of trusting.
  Result<SSL_CTX*> context_for(const WebTrust& trust) {
    std::lock_guard lock(mutex_);
    SslContext& context = contexts_[trust];
    if (!context) {
      auto made = make_web_context(trust.extra_ca_pem, trust.verifies);
      if (!made) {
        contexts_.erase(trust);
        return std::move(made).error();
      }
      context = std::move(*made);
    }
    return context.get();
  }

  std::unique_ptr<Wire> take_idle(const Key& key) {
    std::lock_guard lock(mutex_);
    for (auto it = idle_.begin(); it != idle_.end();) {
      if (it->first != key) {
        ++it;
        continue;
      }
      std::unique_ptr<Wire> wire = std::move(it->second);
      it = idle_.erase(it);
      if (!wire->is_stale()) return wire;
    }
    return nullptr;
  }

  void keep(const Key& key, std::unique_ptr<Wire> wire) {
    std::lock_guard lock(mutex_);
    if (idle_.size() >= kMostIdle) idle_.erase(idle_.begin());
    idle_.emplace_back(key, std::move(wire));
  }

  const ProxySettings proxies_;
  const WebTimeouts timeouts_;
  std::mutex mutex_;  // of what follows
  std::map<WebTrust, SslContext> contexts_;
  std::vector<std::pair<Key, std::unique_ptr<Wire>>> idle_;
};

}  // namespace

std::unique_ptr<WebClient> make_web_client(ProxySettings proxies, WebTimeouts timeouts) {
  return std::make_unique<PoolingWebClient>(std::move(proxies), timeouts);
}

}  // namespace yard
