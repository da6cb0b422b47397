#pragma once
// How far a pull has come: one line that is rewritten on a terminal, a line now and then elsewhere.

#include <functional>
#include <ostream>
#include <string>

#include "base/time.h"
#include "images/take_image.h"

namespace yard {

class PullDisplay {
 public:
  PullDisplay(std::ostream& out, bool is_terminal, std::function<Time()> now)
      : out_(out), is_terminal_(is_terminal), now_(std::move(now)), began_(now_()), told_(began_) {}

  // One call at a time.
  void tell(const TakeProgress& progress);
  void end();  // what comes next begins on a line of its own

 private:
  std::ostream& out_;
  const bool is_terminal_;
  const std::function<Time()> now_;
  const Time began_;
  Time told_;
  std::size_t layers_told_ = 0;
  bool has_line_ = false;
};

}  // namespace yard
