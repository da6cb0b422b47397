#include "net/client.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "net/outgoing.h"
#include "net/response_parser.h"
#include "net/tls.h"
#include "net/wire.h"

namespace yard {

std::string_view ClientResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignore_case(key, name)) return value;
  }
  return {};
}

namespace {

class BlockingClient : public HttpClient {
 public:
  BlockingClient(ClientTarget target, Duration timeout)
      : target_(std::move(target)), timeout_(timeout) {}

  Result<ClientResponse> call(const std::string& method, const std::string& path, Headers headers,
                              std::string body) override {
    std::string collected;
    ClientResponse response =
        TRY(exchange(method, path, headers, body, false, [&](std::string_view bytes) {
          collected.append(bytes);
          return true;
        }));
    response.body = std::move(collected);
    return response;
  }

  Result<ClientResponse> stream(const std::string& path, Headers headers,
                                std::function<bool(std::string_view)> chunk) override {
    return exchange("GET", path, headers, {}, true, std::move(chunk));
  }

 private:
  Result<ClientResponse> exchange(const std::string& method, const std::string& path,
                                  const Headers& headers, const std::string& body, bool is_stream,
                                  std::function<bool(std::string_view)> sink) {
    WireDeadline deadline = WireClock::now() + timeout_;
    std::string request = request_bytes(method, path, headers, body);
    bool kept = wire_ != nullptr;
    if (!kept) TRY(open(deadline));
    while (true) {
      ResponseParser parser(method == "HEAD", sink);
      bool answered = false;
      Result<void> done = converse(request, is_stream, deadline, parser, answered);
      if (done) {
        ClientResponse response = parser.take_response();
        if (!parser.is_whole() || !parser.wants_keep_alive()) wire_.reset();
        return response;
      }
      wire_.reset();
      // A kept connection may have been closed by the server while we were silent: once more, on a
      // new one.
      if (!kept || answered || done.error().reason == Reason::Timeout)
        return std::move(done).error();
      kept = false;
      TRY(open(deadline));
    }
  }

  Result<void> converse(const std::string& request, bool is_stream, WireDeadline deadline,
                        ResponseParser& parser, bool& answered) {
    // A server that refuses may answer and close while we still send: what it said counts, not the
    // broken send.
    Result<void> sent = wire_->send(request, deadline);
    if (!sent && sent.error().reason == Reason::Timeout) return sent;
    while (true) {
      if (is_stream && parser.has_head()) deadline.reset();
      Result<std::string_view> received = wire_->receive(deadline);
      if (!received) return sent ? Result<void>(std::move(received).error()) : sent;
      if (received->empty()) return parser.finish();
      answered = true;
      bool more = TRY(parser.feed(*received));
      if (!more) return {};
    }
  }

  Result<void> open(const WireDeadline& deadline) {
    if (!target_.unix_path.empty()) {
      int fd = TRY(connect_unix(target_.unix_path, deadline));
      wire_ = std::make_unique<Wire>(fd);
      wire_->speak_plain();
      return {};
    }
    if (!context_) context_ = TRY(make_client_context(target_));
    int fd = TRY(connect_tcp(target_.host, target_.port, deadline));
    wire_ = std::make_unique<Wire>(fd);
    Result<void> secured = wire_->speak_tls(context_.get(), {target_.host, target_.port}, deadline);
    if (!secured) wire_.reset();
    return secured;
  }

  std::string request_bytes(const std::string& method, const std::string& path,
                            const Headers& headers, const std::string& body) const {
    std::string text;
    text.reserve(512 + body.size());
    const std::string host =
        target_.unix_path.empty() ? authority(target_.host, target_.port) : "localhost";
    fmt::format_to(std::back_inserter(text), "{} {} HTTP/1.1\r\n", method, path);
    append_header(text, "Host", host);
    if (!target_.bearer_token.empty())
      append_header(text, "Authorization", "Bearer " + target_.bearer_token);
    for (const auto& [name, value] : headers) {
      append_header(text, name, value);
    }
    bool may_have_body = method != "GET" && method != "HEAD";
    if (may_have_body || !body.empty())
      append_header(text, "Content-Length", std::to_string(body.size()));
    text += "\r\n";
    text += body;
    return text;
  }

  ClientTarget target_;
  Duration timeout_;
  SslContext context_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace

std::unique_ptr<HttpClient> make_http_client(ClientTarget target, Duration timeout) {
  return std::make_unique<BlockingClient>(std::move(target), timeout);
}

}  // namespace yard
