#include "api/fields/field_set.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace yard {
namespace {

bool stands_before(const FieldNode& left, const FieldNode& right) {
  return compare_elements(left, right) < 0;
}

// Walks two sorted levels side by side; `visit` gets null where one side lacks the element.
template <typename Visit>
void zip(FieldNodes left, FieldNodes right, Visit&& visit) {
  const FieldNode* l = left.begin();
  const FieldNode* r = right.begin();
  while (l != left.end() || r != right.end()) {
    const int order = l == left.end() ? 1 : r == right.end() ? -1 : compare_elements(*l, *r);
    visit(order <= 0 ? l : nullptr, order >= 0 ? r : nullptr);
    if (order <= 0) ++l;
    if (order >= 0) ++r;
  }
}

}  // namespace

int compare_elements(const FieldNode& left, const FieldNode& right) {
  if (left.order != right.order) return left.order < right.order ? -1 : 1;
  const int order = left.text.compare(right.text);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::string_view FieldArena::keep(std::string_view text) {
  if (text.empty()) return {};
  char* copy = static_cast<char*>(memory_.allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

FieldNodes FieldArena::take(size_t level) {
  std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(level), stack_.end(), stands_before);
  return take_sorted(level);
}

FieldNodes FieldArena::take_merged(size_t level) {
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(level);
  std::sort(begin, stack_.end(), stands_before);
  const std::vector<FieldNode> gathered(begin, stack_.end());
  std::vector<FieldNode> merged;
  merged.reserve(gathered.size());
  for (const FieldNode& node : gathered) {
    if (!merged.empty() && compare_elements(merged.back(), node) == 0) {
      merged.back().marks |= node.marks;
      merged.back().children = unite(*this, merged.back().children, node.children);
    } else {
      merged.push_back(node);
    }
  }
  stack_.resize(level);
  stack_.insert(stack_.end(), merged.begin(), merged.end());
  return take_sorted(level);
}

FieldNodes FieldArena::take_sorted(size_t level) {
  const size_t count = stack_.size() - level;
  if (count == 0) return {};
  auto* nodes =
      static_cast<FieldNode*>(memory_.allocate(count * sizeof(FieldNode), alignof(FieldNode)));
  std::uninitialized_copy(stack_.begin() + static_cast<std::ptrdiff_t>(level), stack_.end(), nodes);
  stack_.resize(level);
  return {nodes, static_cast<uint32_t>(count)};
}

const FieldNode* find_node(FieldNodes nodes, ElementKind kind, std::string_view text) {
  FieldNode wanted;
  wanted.kind = kind;
  wanted.text = text;
  wanted.set_order();
  const FieldNode* found = std::lower_bound(nodes.begin(), nodes.end(), wanted, stands_before);
  return found != nodes.end() && compare_elements(*found, wanted) == 0 ? found : nullptr;
}

FieldNodes unite(FieldArena& arena, FieldNodes left, FieldNodes right) {
  if (left.empty()) return right;
  if (right.empty()) return left;
  const size_t level = arena.level();
  zip(left, right, [&](const FieldNode* l, const FieldNode* r) {
    FieldNode node = l != nullptr ? *l : *r;
    if (l != nullptr && r != nullptr) {
      node.marks |= r->marks;
      node.children = unite(arena, l->children, r->children);
    }
    arena.push(node);
  });
  return arena.take_sorted(level);
}

FieldNodes intersect(FieldArena& arena, FieldNodes left, FieldNodes right, uint8_t marks) {
  if (left.empty() || right.empty()) return {};
  const size_t level = arena.level();
  zip(left, right, [&](const FieldNode* l, const FieldNode* r) {
    if (l == nullptr || r == nullptr) return;
    FieldNode node = *l;
    if ((r->marks & marks) == 0) node.marks = 0;
    node.children = intersect(arena, l->children, r->children, marks);
    arena.push(node);
  });
  return arena.take_sorted(level);
}

FieldNodes subtract(FieldArena& arena, FieldNodes left, FieldNodes right, uint8_t marks) {
  if (left.empty() || right.empty()) return left;
  const size_t level = arena.level();
  zip(left, right, [&](const FieldNode* l, const FieldNode* r) {
    if (l == nullptr) return;
    FieldNode node = *l;
    if (r != nullptr) {
      if ((r->marks & marks) != 0) node.marks = 0;
      node.children = subtract(arena, l->children, r->children, marks);
    }
    arena.push(node);
  });
  return arena.take_sorted(level);
}

FieldNodes subtract_below(FieldArena& arena, FieldNodes left, FieldNodes right) {
  if (left.empty() || right.empty()) return left;
  const size_t level = arena.level();
  zip(left, right, [&](const FieldNode* l, const FieldNode* r) {
    if (l == nullptr || (r != nullptr && r->marks != 0)) return;
    FieldNode node = *l;
    if (r != nullptr) node.children = subtract_below(arena, l->children, r->children);
    arena.push(node);
  });
  return arena.take_sorted(level);
}

FieldNodes select(FieldArena& arena, FieldNodes nodes, uint8_t marks) {
  const size_t level = arena.level();
  for (FieldNode node : nodes) {
    node.marks = (node.marks & marks) != 0 ? kMember : 0;
    node.children = select(arena, node.children, marks);
    arena.push(node);
  }
  return arena.take_sorted(level);
}

bool same_set(FieldNodes left, FieldNodes right) {
  if (left.first == right.first && left.count == right.count) return true;
  if (left.count != right.count) return false;
  for (uint32_t i = 0; i < left.count; ++i) {
    const FieldNode& l = left.first[i];
    const FieldNode& r = right.first[i];
    if (compare_elements(l, r) != 0 || (l.marks == 0) != (r.marks == 0)) return false;
    if (!same_set(l.children, r.children)) return false;
  }
  return true;
}

}  // namespace yard
