#include "controllers/batch/index_set.h"

#include <algorithm>

#include "base/strings.h"

namespace yard {

IndexSet IndexSet::parse(std::string_view text, int end) {
  IndexSet out;
  if (text.empty()) return out;
  for (const std::string_view piece : split(text, ',')) {
    const size_t dash = piece.find('-');
    const auto first = parse_int64(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int64(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) continue;
    if (*first >= end) break;
    out.insert_range(static_cast<int>(*first), static_cast<int>(std::min<int64_t>(*last, end - 1)));
  }
  return out;
}

void IndexSet::insert(int index) {
  insert_range(index, index);
}

void IndexSet::insert(const IndexSet& other) {
  for (const auto& [first, last] : other.ranges_)
    insert_range(first, last);
}

void IndexSet::insert_range(int first, int last) {
  auto at = ranges_.upper_bound(first);
  if (at != ranges_.begin() && std::prev(at)->second >= first - 1) --at;
  while (at != ranges_.end() && at->first <= last + 1) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    size_ -= at->second - at->first + 1;
    at = ranges_.erase(at);
  }
  ranges_.emplace(first, last);
  size_ += last - first + 1;
}

bool IndexSet::contains(int index) const {
  const auto after = ranges_.upper_bound(index);
  return after != ranges_.begin() && std::prev(after)->second >= index;
}

int IndexSet::overlap(const IndexSet& other) const {
  int shared = 0;
  auto left = ranges_.begin(), right = other.ranges_.begin();
  while (left != ranges_.end() && right != other.ranges_.end()) {
    shared += std::max(
        0, std::min(left->second, right->second) - std::max(left->first, right->first) + 1);
    left->second < right->second ? ++left : ++right;
  }
  return shared;
}

std::string IndexSet::text() const {
  std::string out;
  for (const auto& [first, last] : ranges_) {
    if (!out.empty()) out += ',';
    out += std::to_string(first);
    if (last > first) out += (last == first + 1 ? ',' : '-') + std::to_string(last);
  }
  return out;
}

}  // namespace yard
