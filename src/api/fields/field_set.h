#pragma once
// Sets of field paths as tries, and the algebra that ownership needs. Sets are immutable once built
// and share branches; an arena owns their nodes, and their texts are views of the trees (or the
// arena) they came from. All of them live only while one verb runs.

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

// One step of a path, in the order FieldsV1 lists them.
enum class ElementKind : uint8_t { Field, Key, Value, Index };

struct FieldNode;

// The branches below one node: sorted by kind and text, each at most once.
struct FieldNodes {
  const FieldNode* first = nullptr;
  uint32_t count = 0;

  bool empty() const { return count == 0; }
  const FieldNode* begin() const { return first; }
  const FieldNode* end() const;
};

// A node is in the trie because it is a member (marks) or because something below it is.
struct FieldNode {
  std::string_view text;  // the name; {"name":"c"} of a Key; "a" (as JSON) of a Value
  FieldNodes children;
  ElementKind kind = ElementKind::Field;
  uint8_t marks = 0;  // 0: only a way to members below; of a plain set not 0
  uint64_t order =
      0;  // kind and the first bytes of text, so that siblings mostly compare as numbers

  // To be called once kind and text are set; FieldArena::push does.
  constexpr void set_order() {
    order = static_cast<uint64_t>(kind) + 1;
    for (size_t i = 0; i < 7; ++i) {
      order = order << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
    }
  }
};

inline const FieldNode* FieldNodes::end() const {
  return first + count;
}

inline constexpr uint8_t kMember = 1;
// What a comparison of two objects marks its paths with.
inline constexpr uint8_t kAdded = 1;
inline constexpr uint8_t kModified = 2;
inline constexpr uint8_t kRemoved = 4;
inline constexpr uint8_t kAnyMark = 7;

// Owns nodes and texts, and keeps the stack on which the children of a node are gathered.
class FieldArena {
 public:
  FieldArena() : memory_(block_, sizeof block_) { stack_.reserve(64); }
  FieldArena(const FieldArena&) = delete;
  FieldArena& operator=(const FieldArena&) = delete;

  std::string_view keep(std::string_view text);
  size_t level() const { return stack_.size(); }
  // Nodes that are no member and lead to none are left out.
  void push(const FieldNode& node) {
    if (node.marks == 0 && node.children.empty()) return;
    stack_.push_back(node);
    if (node.order == 0) stack_.back().set_order();
  }
  // Everything pushed since `level`, sorted; each path was pushed once.
  FieldNodes take(size_t level);
  // The same where paths may have come twice: those become one.
  FieldNodes take_merged(size_t level);
  // The same when the pushes came in order.
  FieldNodes take_sorted(size_t level);

 private:
  alignas(std::max_align_t) std::byte block_[8192];
  std::pmr::monotonic_buffer_resource memory_;
  std::vector<FieldNode> stack_;
};

// -1, 0, 1 as `left` stands before, at or after `right` among its siblings.
int compare_elements(const FieldNode& left, const FieldNode& right);
const FieldNode* find_node(FieldNodes nodes, ElementKind kind, std::string_view text);

FieldNodes unite(FieldArena& arena, FieldNodes left, FieldNodes right);
// Members of `left` whose very path has one of `marks` in `right` / has none of them.
FieldNodes intersect(FieldArena& arena, FieldNodes left, FieldNodes right,
                     uint8_t marks = kAnyMark);
FieldNodes subtract(FieldArena& arena, FieldNodes left, FieldNodes right, uint8_t marks = kAnyMark);
// `left` without the members of `right` and everything below them.
FieldNodes subtract_below(FieldArena& arena, FieldNodes left, FieldNodes right);
// The plain set of the paths that carry one of `marks`.
FieldNodes select(FieldArena& arena, FieldNodes nodes, uint8_t marks);
bool same_set(FieldNodes left, FieldNodes right);

// Calls visit(path) for each member: the members of a level first, then what lies below them. The
// path is a vector of nodes from the root down.
using NodePath = std::vector<const FieldNode*>;
template <typename Visit>
void each_member(FieldNodes nodes, NodePath& above, Visit&& visit) {
  for (const FieldNode& node : nodes) {
    if (node.marks == 0) continue;
    above.push_back(&node);
    visit(above);
    above.pop_back();
  }
  for (const FieldNode& node : nodes) {
    above.push_back(&node);
    each_member(node.children, above, visit);
    above.pop_back();
  }
}

}  // namespace yard
