#include "cli/pull_progress.h"

#include "images/progress_text.h"

namespace yard {
namespace {

constexpr Duration kRewriteEvery = std::chrono::milliseconds(100),
                   kLineEvery = std::chrono::seconds(5);

}  // namespace

void PullDisplay::tell(const TakeProgress& progress) {
  if (progress.layers == 0) return;
  const Time now = now_();
  const bool is_over = progress.layers_done == progress.layers;
  const bool is_due = is_terminal_
                          ? now - told_ >= kRewriteEvery || is_over || !has_line_
                          : now - told_ >= kLineEvery || progress.layers_done != layers_told_;
  if (!is_due) return;
  told_ = now;
  layers_told_ = progress.layers_done;
  const std::string text = pull_progress_text(progress, now - began_);
  if (is_terminal_) {
    out_ << "\r\x1b[K" << text << std::flush;
    has_line_ = true;
  } else {
    out_ << text << "\n" << std::flush;
  }
}

void PullDisplay::end() {
  if (has_line_) out_ << "\n" << std::flush;
  has_line_ = false;
}

}  // namespace yard
