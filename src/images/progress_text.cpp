#include "images/progress_text.h"

#include <fmt/format.h>

#include "base/byte_size.h"

namespace yard {

std::string pull_progress_text(const TakeProgress& progress, Duration elapsed) {
  const auto size = [](std::int64_t bytes) { return byte_size(static_cast<uint64_t>(bytes)); };
  std::string out = fmt::format("{} of {} layers, {} of {}", progress.layers_done, progress.layers,
                                size(progress.bytes), size(progress.total_bytes));
  const double seconds = std::chrono::duration<double>(elapsed).count();
  // Before that the number jumps about.
  if (seconds >= 0.1)
    out += fmt::format(
        ", {}/s", size(static_cast<std::int64_t>(static_cast<double>(progress.bytes) / seconds)));
  return out;
}

}  // namespace yard
