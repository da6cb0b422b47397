#include "net/response_parser.h"

#include <fmt/format.h>

#include "net/beast.h"

namespace yard {

namespace http = boost::beast::http;

namespace {

// A Beast body that keeps nothing.
struct SinkBody {
  struct value_type {
    std::function<bool(std::string_view)> sink;
    bool heard_enough = false;
  };

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(http::header<is_request, Fields>&, value_type& value) : value_(value) {}
    void init(const boost::optional<uint64_t>&, boost::system::error_code& code) { code = {}; }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& code) {
      size_t total = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers);
           it != boost::asio::buffer_sequence_end(buffers); ++it) {
        boost::asio::const_buffer part = *it;
        total += part.size();
        if (value_.heard_enough || !value_.sink) continue;
        value_.heard_enough =
            !value_.sink(std::string_view(static_cast<const char*>(part.data()), part.size()));
      }
      code = {};
      return total;
    }
    void finish(boost::system::error_code& code) { code = {}; }

   private:
    value_type& value_;
  };
};

}  // namespace

struct ResponseParser::Engine {
  http::response_parser<SinkBody> parser;
};

ResponseParser::ResponseParser(bool is_head, std::function<bool(std::string_view)> sink)
    : is_head_(is_head), sink_(std::move(sink)) {
  begin();
}

ResponseParser::~ResponseParser() = default;

void ResponseParser::begin() {
  engine_ = std::make_unique<Engine>();
  engine_->parser.eager(true);
  engine_->parser.header_limit(256 * 1024);
  engine_->parser.body_limit(boost::none);
  if (is_head_) engine_->parser.skip(true);
  engine_->parser.get().body().sink = sink_;
}

Result<bool> ResponseParser::feed(std::string_view bytes) {
  // What came is parsed where it lies; only a piece the parser cannot use yet is kept.
  const bool joined = !pending_.empty();
  if (joined) pending_.append(bytes);
  std::string_view rest = joined ? std::string_view(pending_) : bytes;
  while (true) {
    auto& parser = engine_->parser;
    while (!rest.empty() && !parser.is_done()) {
      boost::system::error_code code;
      size_t used = parser.put(boost::asio::const_buffer(rest.data(), rest.size()), code);
      rest.remove_prefix(used);
      if (code == http::error::need_more) break;
      if (code)
        return error(Reason::ServiceUnavailable,
                     fmt::format("the answer is not HTTP: {}", code.message()));
      if (parser.get().body().heard_enough) return false;
    }
    // "100 Continue" and its like only announce the answer.
    if (!parser.is_header_done() || parser.get().result_int() / 100 != 1) break;
    begin();
  }
  if (joined) {
    pending_.erase(0, pending_.size() - rest.size());
  } else {
    pending_.assign(rest);
  }
  return !engine_->parser.is_done() && !engine_->parser.get().body().heard_enough;
}

Result<void> ResponseParser::finish() {
  boost::system::error_code code = http::error::partial_message;
  // Only a body without a length may end with the connection.
  if (has_head()) engine_->parser.put_eof(code);
  if (code)
    return error(Reason::ServiceUnavailable,
                 "the server closed the connection before the answer was whole");
  return {};
}

bool ResponseParser::has_head() const {
  return engine_->parser.is_header_done();
}
bool ResponseParser::is_whole() const {
  return engine_->parser.is_done() && pending_.empty();
}
bool ResponseParser::wants_keep_alive() const {
  return engine_->parser.keep_alive();
}

ClientResponse ResponseParser::take_response() {
  ClientResponse response;
  const auto& message = engine_->parser.get();
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return response;
}

}  // namespace yard
