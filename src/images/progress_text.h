#pragma once

#include <string>

#include "base/time.h"
#include "images/take_image.h"

namespace yard {

// `3 of 10 layers, 412.0 MiB of 1.0 GiB, 180.0 MiB/s`
std::string pull_progress_text(const TakeProgress& progress, Duration elapsed);

}  // namespace yard
