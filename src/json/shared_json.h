#pragma once
// A tree that several readers share and nobody changes. Reads like the Json it holds.

#include <memory>
#include <utility>

#include "json/json.h"

namespace yard {

// A tree and the memory all of it lies in: a block or two, where a tree on the heap is an
// allocation for each node and a walk to free them.
class JsonBlock {
 public:
  JsonBlock() : resource_(kFirstBytes), tree(JsonMemory(&resource_)) {}
  JsonBlock(const JsonBlock&) = delete;
  JsonBlock& operator=(const JsonBlock&) = delete;
  JsonMemory memory() { return JsonMemory(&resource_); }

 private:
  static constexpr size_t kFirstBytes = 16 << 10;  // a pod
  boost::json::monotonic_resource resource_;

 public:
  Json tree;  // what is assigned to it should have been made in `memory`: else it is copied
};

class SharedJson {
 public:
  SharedJson() : SharedJson(Json()) {}
  // Implicit, as a copy of a Json would be.
  SharedJson(Json tree) : tree_(std::make_shared<const Json>(std::move(tree))) {}
  explicit SharedJson(const std::shared_ptr<const JsonBlock>& block) : tree_(block, &block->tree) {}
  operator const Json&() const { return *tree_; }
  const Json& operator*() const { return *tree_; }

 private:
  std::shared_ptr<const Json> tree_;
};

}  // namespace yard
