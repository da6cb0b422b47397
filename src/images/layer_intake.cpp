#include "images/layer_intake.h"

#include <fmt/format.h>

namespace yard {

LayerIntake::LayerIntake(std::string folder, const UnpackLimits& limits)
    : folder_(std::move(folder)),
      unpacker_(folder_ + "/r", limits),
      tar_(unpacker_),
      decompressor_([this](std::string_view bytes) -> Result<void> {
        tar_bytes_ += static_cast<std::int64_t>(bytes.size());
        // Headers cost too: a bomb of them must not run on for ever.
        if (tar_bytes_ > most_tar_bytes_)
          return error(Reason::Invalid,
                       fmt::format("the layer unpacks to more than {} MiB", most_tar_bytes_ >> 20));
        tar_sum_.add(bytes);
        return tar_.feed(bytes);
      }),
      most_tar_bytes_(limits.bytes + limits.entries * std::int64_t{4096}) {}

Result<void> LayerIntake::feed(std::string_view bytes) {
  blob_bytes_ += static_cast<std::int64_t>(bytes.size());
  blob_sum_.add(bytes);
  return decompressor_.feed(bytes);
}

Result<LayerIntake::Outcome> LayerIntake::finish() {
  TRY(decompressor_.finish());
  TRY(tar_.finish());
  TRY(unpacker_.finish());
  return Outcome{"sha256:" + blob_sum_.hex(), "sha256:" + tar_sum_.hex(), blob_bytes_,
                 unpacker_.bytes(),           unpacker_.entries(),        unpacker_.notes()};
}

}  // namespace yard
