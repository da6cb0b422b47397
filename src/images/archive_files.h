#pragma once
// The files of an archive by their paths, wherever they lie.

#include <memory>
#include <string>

#include "images/tar.h"

namespace yard {

class ArchiveFiles {
 public:
  virtual ~ArchiveFiles() = default;
  virtual bool has(const std::string& path) const = 0;
  virtual std::int64_t size(const std::string& path) const = 0;
  // From any thread.
  virtual Result<void> send(const std::string& path, const ByteSink& sink) const = 0;

  Result<std::string> read(const std::string& path, std::size_t most) const;
};

Result<std::shared_ptr<const ArchiveFiles>> open_archive(const std::string& path,
                                                         const std::string& scratch_folder);

}  // namespace yard
