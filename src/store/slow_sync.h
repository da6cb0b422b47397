#pragma once
// For measuring alone: how much of a way through the server is spent waiting for the disk shows
// when every sync takes longer by a known time (bench/run, phase syncs).

#include "base/time.h"

namespace yard {

// Every sync of a store opened from now on takes longer by `delay`. Once, before the first store.
void slow_down_syncs(Duration delay);

}  // namespace yard
