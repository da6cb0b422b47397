#include "node/probe_runner.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "node/grpc_health.h"

namespace yard {
namespace {

using Outcome = HandlerOutcome;
constexpr size_t kMostAnswer = 64 << 10;

Outcome exec_outcome(const Result<CommandOutcome>& ended, const std::vector<std::string>& argv) {
  if (!ended) return {Outcome::Result::NotAsked, ended.error().message};
  if (ended->timed_out)
    return {Outcome::Result::Bad, fmt::format("command {} timed out", quoted(join(argv, " ")))};
  return {ended->code == 0 ? Outcome::Result::Good : Outcome::Result::Bad, ended->output};
}

// Go's words for a connection that could not be made.
std::string dial_text(const HandlerCall& call, const Error& why) {
  const std::string address = fmt::format("{}:{}", call.host, call.port);
  if (why.reason == Reason::Timeout) return fmt::format("dial tcp {}: i/o timeout", address);
  return fmt::format(
      "dial tcp {}: connect: {}", address,
      lower(why.message.substr(
          why.message.rfind(": ") == std::string::npos ? 0 : why.message.rfind(": ") + 2)));
}

}  // namespace

struct ProbeRunner::Exchange {
  HandlerCall call;
  HandlerUse use = HandlerUse::Probe;
  Time deadline{};
  int fd = -1;
  TimerId timer = 0;
  std::string uid, received;
  std::unique_ptr<TlsStream> tls;
  std::function<void(HandlerOutcome)> done;

  // The start of an error, as Go's clients write it.
  std::string failed(const std::string& why) const {
    if (call.type == HandlerCall::Type::Http)
      return fmt::format("Get {}: {}", quoted(url_of(call)), why);
    if (call.type == HandlerCall::Type::Grpc)
      return fmt::format("error: failed to connect service {}: {}",
                         quoted(fmt::format("{}:{}", call.host, call.port)), why);
    return why;
  }
};

ProbeRunner::~ProbeRunner() {
  *alive_ = false;
  for (const auto& [fd, exchange] : exchanges_) {
    loop_.cancel(exchange->timer);
    loop_.forget_readable(fd);
    close(fd);
  }
}

void ProbeRunner::run(const std::string& uid, const std::string& container, HandlerCall call,
                      HandlerUse use, Duration timeout, std::function<void(HandlerOutcome)> done) {
  if (call.type == HandlerCall::Type::Exec) {
    runtime_.run_command(
        uid, container, call.argv, timeout,
        [argv = call.argv, done = std::move(done)](const Result<CommandOutcome>& ended) {
          done(exec_outcome(ended, argv));
        });
    return;
  }
  if (call.type == HandlerCall::Type::Sleep) {
    loop_.after(std::min(call.sleep, timeout), [done = std::move(done)] { done({}); });
    return;
  }
  if (call.tls && !tls_maker_) {
    loop_.post([done = std::move(done)] {
      done({Outcome::Result::NotAsked, "nobody speaks TLS for probes and hooks here"});
    });
    return;
  }
  auto exchange = std::make_shared<Exchange>();
  exchange->call = std::move(call);
  exchange->use = use;
  exchange->deadline = loop_.now() + timeout;
  exchange->done = std::move(done);
  exchange->uid = uid;
  connect(uid, exchange);
}

void ProbeRunner::connect(const std::string& uid, const ExchangePtr& exchange) {
  const Duration timeout = std::max<Duration>(Duration{}, exchange->deadline - loop_.now());
  runtime_.dial(uid, exchange->call.host, exchange->call.port, timeout,
                [this, exchange, alive = alive_](const Result<int>& fd) {
                  if (!*alive) {
                    if (fd) close(*fd);
                    return;
                  }
                  if (!fd) {
                    return exchange->done({Outcome::Result::Bad, exchange->failed(dial_text(
                                                                     exchange->call, fd.error()))});
                  }
                  begin(exchange, *fd);
                });
}

void ProbeRunner::begin(const ExchangePtr& exchange, int fd) {
  exchange->fd = fd;
  if (exchange->call.type == HandlerCall::Type::Tcp) return finish(exchange, Outcome{});
  const std::string request = exchange->call.type == HandlerCall::Type::Http
                                  ? http_request_text(exchange->call)
                                  : grpc_health_request(exchange->call);
  if (exchange->call.tls) {
    exchange->tls = tls_maker_(exchange->call.host);
    exchange->tls->write(request);
  }
  if (!send_bytes(exchange, exchange->tls ? exchange->tls->take_output() : request))
    return finish(exchange, Outcome{Outcome::Result::Bad, exchange->failed("write: broken pipe")});
  exchanges_[fd] = exchange;
  exchange->timer = loop_.after(
      std::max<Duration>(Duration{}, exchange->deadline - loop_.now()), [this, exchange] {
        exchange->timer = 0;
        finish(exchange,
               Outcome{Outcome::Result::Bad,
                       exchange->failed("context deadline exceeded (Client.Timeout exceeded while "
                                        "awaiting headers)")});
      });
  loop_.on_readable(fd, [this, exchange] { read_on(exchange); });
}

// A request and a handshake are smaller than any socket's buffer.
bool ProbeRunner::send_bytes(const ExchangePtr& exchange, const std::string& bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = send(exchange->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent >= 0 && static_cast<size_t>(sent) == bytes.size();
}

// False when the exchange is over.
bool ProbeRunner::decrypt(const ExchangePtr& exchange, std::string_view bytes) {
  const auto taken = exchange->tls->receive(bytes);
  exchange->received += exchange->tls->take_plain();
  if (taken && send_bytes(exchange, exchange->tls->take_output())) return true;
  const bool plain = exchange->tls->met_plain_http();
  if (plain && exchange->use == HandlerUse::Hook) {  // as kubelet: asked again without TLS
    auto again = std::make_shared<Exchange>();
    again->call = exchange->call;
    again->call.tls = false;
    again->use = exchange->use;
    again->deadline = exchange->deadline;
    again->uid = exchange->uid;
    finish(exchange, std::nullopt);
    again->done = std::move(exchange->done);
    connect(again->uid, again);
    return false;
  }
  finish(exchange,
         Outcome{Outcome::Result::Bad,
                 exchange->failed(plain   ? "http: server gave HTTP response to HTTPS client"
                                  : taken ? "write: broken pipe"
                                          : "tls: " + taken.error().message)});
  return false;
}

void ProbeRunner::read_on(const ExchangePtr& exchange) {
  if (exchange->fd < 0) return;
  char buffer[4096];
  const ssize_t count = recv(exchange->fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const std::string_view bytes(buffer, count > 0 ? static_cast<size_t>(count) : 0);
  if (exchange->tls && !bytes.empty()) {
    if (!decrypt(exchange, bytes)) return;
  } else {
    exchange->received += bytes;
  }
  if (exchange->call.type == HandlerCall::Type::Grpc) {
    if (auto outcome = grpc_health_outcome(exchange->received))
      return finish(exchange, std::move(*outcome));
  } else if (const auto status = http_status(exchange->received)) {
    if (*status == 0)
      return finish(exchange,
                    Outcome{Outcome::Result::Bad,
                            exchange->failed("net/http: HTTP/1.x transport connection broken: "
                                             "malformed HTTP response")});
    if (exchange->use == HandlerUse::Hook || (*status >= 200 && *status < 400))
      return finish(exchange, Outcome{});
    return finish(exchange, Outcome{Outcome::Result::Bad,
                                    fmt::format("HTTP probe failed with statuscode: {}", *status)});
  }
  if (count <= 0 || exchange->received.size() > kMostAnswer)
    finish(exchange, Outcome{Outcome::Result::Bad, exchange->failed("EOF")});
}

void ProbeRunner::finish(const ExchangePtr& exchange, std::optional<HandlerOutcome> outcome) {
  if (exchange->fd < 0) return;
  if (exchanges_.erase(exchange->fd) > 0) loop_.forget_readable(exchange->fd);
  loop_.cancel(exchange->timer);
  close(exchange->fd);
  exchange->fd = -1;
  if (outcome) exchange->done(std::move(*outcome));
}

}  // namespace yard
