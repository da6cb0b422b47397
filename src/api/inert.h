#pragma once
// Kinds that are stored and listed so that other people's manifests apply, while nothing here acts
// on them: whoever writes one is told so, and the object says it of itself.

#include <string_view>

#include "api/kind.h"

namespace yard {

// Warns on every write with `text`; with `in_status` a new object's status carries it too, as the
// condition Inert.
void make_inert(Kind& row, std::string_view text, bool in_status);

}  // namespace yard
