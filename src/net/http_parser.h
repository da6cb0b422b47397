#pragma once
// Bytes of a connection into an HttpRequest: Beast's parser, fed from our own buffer, with the
// checks it leaves to the caller. One parser reads one request.

#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace yard {

struct ParserLimits {
  size_t max_header = 64 * 1024;
  size_t max_body = 3 * 1024 * 1024;
};

// Why a request is not one: what to answer before the connection is closed.
struct ParseFailure {
  int status = 400;
  std::string reason;  // of the Status object
  std::string message;
};

class RequestParser {
 public:
  enum class Outcome {
    NeedMore,         // feed again: the unused rest, with more behind it
    ExpectsContinue,  // the head is whole and the client waits for "100 Continue"; then as NeedMore
    Complete,
    Failed,
  };
  struct Step {
    Outcome outcome;
    size_t used;  // bytes that need not be fed again
  };

  explicit RequestParser(ParserLimits limits);
  ~RequestParser();

  Step feed(std::string_view bytes);
  bool has_head() const { return has_head_; }
  size_t body_bytes() const;  // read so far
  bool wants_keep_alive() const { return keep_alive_; }
  bool is_http10() const { return is_http10_; }
  HttpRequest take_request();  // once, after Complete; `peer` is left empty
  const ParseFailure& failure() const { return failure_; }

 private:
  struct Engine;

  Step fail(ParseFailure failure);
  bool take_head();

  ParserLimits limits_;
  std::unique_ptr<Engine> engine_;
  HttpRequest request_;
  ParseFailure failure_;
  bool has_head_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  bool is_http10_ = false;
};

}  // namespace yard
