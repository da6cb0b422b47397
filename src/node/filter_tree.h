#pragma once
// A filter that finds what a system call's number leads to by halving: six comparisons where a list
// has sixty. The kernel runs it once for every number when it is attached, and then for every call.

#include <cstdint>
#include <span>
#include <vector>

#include "node/seccomp.h"

namespace yard {

// Numbers from `first` up to the next range's.
struct NumberRange {
  uint32_t first = 0;
  size_t end = 0;  // its place among the ends they lead to
};

// Steps for a number that is held already. Ranges rise and begin with 0; each end is steps that
// give a verdict. Jumps are short: 255 steps in all at most. Pure.
std::vector<FilterStep> number_tree(std::span<const NumberRange> ranges,
                                    const std::vector<std::vector<FilterStep>>& ends);

}  // namespace yard
