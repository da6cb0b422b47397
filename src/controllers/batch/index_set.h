#pragma once
// The completed or failed indexes of an Indexed Job, kept as ranges: `1,3-5,7` (kubernetes-core
// A7).

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

class IndexSet {
 public:
  IndexSet() = default;
  // Indexes from `end` on are left out; pieces that are no ranges are skipped.
  static IndexSet parse(std::string_view text, int end);

  void insert(int index);
  void insert(const IndexSet& other);
  bool contains(int index) const;
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // How many of `other` are in this set.
  int overlap(const IndexSet& other) const;
  std::string text() const;
  friend bool operator==(const IndexSet&, const IndexSet&) = default;

 private:
  void insert_range(int first, int last);
  std::map<int, int> ranges_;  // first → last; apart from one another by more than one
  int size_ = 0;
};

}  // namespace yard
