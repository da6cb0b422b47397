#pragma once
// Reads what the shim's journal says (its lines: node/shim/journal.h).

#include <string_view>

#include "node/pod_runtime.h"

namespace yard {

// Adds what a line says to the record. A line that says nothing we know is left out: a newer shim
// may write more.
void add_journal_line(PodRecord& record, std::string_view line);

// A shim that is gone has seen the end of nothing: what still ran is lost.
void mark_lost(PodRecord& record, Time now);

}  // namespace yard
