#include "node/filter_tree.h"

#include <linux/filter.h>

namespace yard {
namespace {

// Where a comparison leads: to another, or to an end.
struct Target {
  bool is_end = false;
  size_t index = 0;
};
struct Comparison {
  uint32_t at_least;
  Target yes, no;
};

// Every comparison comes before those it leads to: the machine jumps forward only.
Target halve(std::span<const NumberRange> ranges, std::vector<Comparison>& out) {
  if (ranges.size() == 1) return {true, ranges.front().end};
  const size_t middle = ranges.size() / 2, own = out.size();
  out.push_back({ranges[middle].first, {}, {}});
  const Target no = halve(ranges.subspan(0, middle), out);
  const Target yes = halve(ranges.subspan(middle), out);
  out[own].no = no;
  out[own].yes = yes;
  return {false, own};
}

}  // namespace

std::vector<FilterStep> number_tree(std::span<const NumberRange> ranges,
                                    const std::vector<std::vector<FilterStep>>& ends) {
  std::vector<Comparison> comparisons;
  const Target first = halve(ranges, comparisons);
  if (first.is_end) return ends[first.index];
  std::vector<size_t> begins;
  size_t at = comparisons.size();
  for (const auto& steps : ends) {
    begins.push_back(at);
    at += steps.size();
  }
  std::vector<FilterStep> out;
  out.reserve(at);
  for (const Comparison& comparison : comparisons) {
    const auto distance = [&](const Target& target) {
      const size_t there = target.is_end ? begins[target.index] : target.index;
      return static_cast<uint8_t>(there - out.size() - 1);
    };
    out.push_back({BPF_JMP | BPF_JGE | BPF_K, distance(comparison.yes), distance(comparison.no),
                   comparison.at_least});
  }
  for (const auto& steps : ends)
    out.insert(out.end(), steps.begin(), steps.end());
  return out;
}

}  // namespace yard
