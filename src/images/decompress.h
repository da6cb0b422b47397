#pragma once
// gzip and zstd streams as they come. What a stream is, its first bytes say: media types and
// archives of the wild do not always.

#include <memory>
#include <string>

#include "images/tar.h"

namespace yard {

class Decompressor {
 public:
  explicit Decompressor(ByteSink sink);
  ~Decompressor();
  Result<void> feed(std::string_view bytes);
  Result<void> finish();  // an error when the stream was cut off

 private:
  enum class Sort { Unknown, Plain, Gzip, Zstd };
  struct Streams;
  Result<void> begin();
  Result<void> inflate_some(std::string_view bytes);
  Result<void> unzstd_some(std::string_view bytes);

  ByteSink sink_;
  Sort sort_ = Sort::Unknown;
  std::string start_;  // until there is enough to tell
  bool at_end_of_frame_ = false;
  std::unique_ptr<Streams> streams_;
};

}  // namespace yard
