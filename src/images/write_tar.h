#pragma once
// Writes a tar stream: folders for `image import` and `image save`, small files for archives.

#include <map>
#include <string>

#include "images/tar.h"

namespace yard {

class TarWriter {
 public:
  explicit TarWriter(ByteSink sink) : sink_(std::move(sink)) {}
  Result<void> entry(const TarEntry& entry);  // its header; a file's bytes follow with data()
  Result<void> data(std::string_view bytes);
  Result<void> end_data();  // fills the last block
  Result<void> file(const std::string& path, std::string_view bytes);
  Result<void> finish();

 private:
  ByteSink sink_;
  std::int64_t written_ = 0;
};

// The files below a folder, always in one order and with times in whole seconds, so that the same
// folder gives the same bytes. Sockets and devices are left out; the marks of overlayfs become the
// whiteouts of layers.
Result<void> write_folder(TarWriter& writer, const std::string& folder);

}  // namespace yard
