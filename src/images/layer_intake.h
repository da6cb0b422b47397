#pragma once
// One layer on its way in: bytes are summed, unpacked and written as they come; no copy of the
// packed layer is kept anywhere.

#include <memory>
#include <string>

#include "images/decompress.h"
#include "images/unpack.h"
#include "net/sha256.h"

namespace yard {

class LayerIntake {
 public:
  // `folder` is made by the caller; the layer's files go to its subfolder `r`.
  LayerIntake(std::string folder, const UnpackLimits& limits);
  Result<void> feed(std::string_view bytes);

  struct Outcome {
    std::string blob_digest, diff_id;  // of the bytes as they came, and of the tar stream in them
    std::int64_t blob_bytes = 0, bytes = 0, entries = 0;
    UnpackNotes notes;
  };
  Result<Outcome> finish();
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  Sha256 blob_sum_, tar_sum_;
  LayerUnpacker unpacker_;
  TarStream tar_;
  Decompressor decompressor_;
  std::int64_t blob_bytes_ = 0, tar_bytes_ = 0, most_tar_bytes_;
};

}  // namespace yard
