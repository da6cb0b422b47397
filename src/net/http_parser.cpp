#include "net/http_parser.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "net/beast.h"

namespace yard {

namespace http = boost::beast::http;

namespace {

// Far above what any client sends; a bound on the memory that many tiny fields would take.
constexpr size_t kMaxHeaderFields = 1000;

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

ParseFailure bad_request(std::string message) {
  return {400, "BadRequest", std::move(message)};
}

ParseFailure header_too_large() {
  return {431, "RequestHeaderFieldsTooLarge", "Request header fields too large"};
}

ParseFailure failure_of(const boost::system::error_code& code, const ParserLimits& limits) {
  if (code == http::error::header_limit) return header_too_large();
  if (code == http::error::body_limit) {
    return {413, "RequestEntityTooLarge",
            fmt::format("Request entity too large: limit is {}", limits.max_body)};
  }
  return bad_request(fmt::format("the request is not HTTP/1.1: {}", code.message()));
}

// "http://host/path" means "/path" here; proxies send it so.
void keep_origin_form(std::string& target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignore_case(std::string_view(target).substr(0, scheme.size()), scheme)) continue;
    size_t path = target.find_first_of("/?", scheme.size());
    target = path == std::string::npos ? "/" : target.substr(path);
    if (target[0] == '?') target.insert(0, "/");
    return;
  }
}

}  // namespace

struct RequestParser::Engine {
  http::request_parser<http::string_body> parser;
};

RequestParser::RequestParser(ParserLimits limits)
    : limits_(limits), engine_(std::make_unique<Engine>()) {
  engine_->parser.header_limit(static_cast<uint32_t>(limits.max_header));
  engine_->parser.body_limit(limits.max_body);
  engine_->parser.eager(false);  // stop at the end of the head, to look at it before the body
}

RequestParser::~RequestParser() = default;

RequestParser::Step RequestParser::fail(ParseFailure failure) {
  failure_ = std::move(failure);
  return {Outcome::Failed, 0};
}

RequestParser::Step RequestParser::feed(std::string_view bytes) {
  auto& parser = engine_->parser;
  size_t used = 0;
  while (!parser.is_done()) {
    if (used == bytes.size()) return {Outcome::NeedMore, used};
    boost::system::error_code code;
    size_t taken =
        parser.put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), code);
    used += taken;
    if (code && code != http::error::need_more) return fail(failure_of(code, limits_));
    if (!has_head_ && parser.is_header_done()) {
      if (!take_head()) return {Outcome::Failed, 0};
      parser.eager(true);
      if (expects_continue_ && used == bytes.size() && !parser.is_done()) {
        return {Outcome::ExpectsContinue, used};
      }
      continue;
    }
    if (code == http::error::need_more || taken == 0) {
      // What cannot be used yet is an unfinished head, chunk line or trailer: never more than a
      // head.
      if (bytes.size() - used > limits_.max_header) return fail(header_too_large());
      return {Outcome::NeedMore, used};
    }
  }
  return {Outcome::Complete, used};
}

bool RequestParser::take_head() {
  auto& message = engine_->parser.get();
  has_head_ = true;
  is_http10_ = message.version() == 10;
  keep_alive_ = !is_http10_ && engine_->parser.keep_alive();
  if (message.version() != 10 && message.version() != 11) {
    failure_ = {505, "BadRequest", "only HTTP/1.1 is spoken here"};
    return false;
  }
  request_.method = view(message.method_string());
  request_.target = view(message.target());
  keep_origin_form(request_.target);
  bool has_host = false;
  for (const auto& field : message) {
    std::string_view name = view(field.name_string()), value = view(field.value());
    if (request_.headers.size() == kMaxHeaderFields) {
      failure_ = header_too_large();
      return false;
    }
    if (field.name() == http::field::host) has_host = true;
    if (field.name() == http::field::expect && equals_ignore_case(value, "100-continue")) {
      expects_continue_ = !is_http10_;
    }
    // Any other coding would leave the end of the body to guesswork.
    if (field.name() == http::field::transfer_encoding && !equals_ignore_case(value, "chunked")) {
      failure_ = bad_request("Transfer-Encoding may only be chunked");
      return false;
    }
    request_.headers.emplace_back(name, value);
  }
  if (!has_host && !is_http10_) {
    failure_ = bad_request("missing required Host header");
    return false;
  }
  return true;
}

size_t RequestParser::body_bytes() const {
  return engine_->parser.get().body().size();
}

HttpRequest RequestParser::take_request() {
  request_.body = std::move(engine_->parser.get().body());
  return std::move(request_);
}

}  // namespace yard
