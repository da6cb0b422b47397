#pragma once
// An answer's body, compressed piece by piece, so that a long one holds nobody up.

#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace yard {

// Whether the Accept-Encoding header asks for it.
bool accepts_gzip(std::string_view accept_encoding);

class GzipBody {
 public:
  explicit GzipBody(HttpResponse response);
  ~GzipBody();
  GzipBody(const GzipBody&) = delete;
  GzipBody& operator=(const GzipBody&) = delete;

  // The next piece: what at most `input` bytes of the body become. May be empty before the end.
  std::string next(size_t input);
  bool is_done() const { return done_; }

 private:
  struct Stream;
  std::string_view piece(size_t index) const;
  size_t pieces() const;
  void deflate_into(std::string& out, std::string_view input, bool last);

  HttpResponse response_;
  std::unique_ptr<Stream> stream_;
  size_t index_ = 0, offset_ = 0;
  bool done_ = false;
};

}  // namespace yard
