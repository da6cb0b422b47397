#pragma once
// A tree that several readers share and nobody changes. Reads like the Json it holds.

#include <memory>
#include <utility>

#include "json/json.h"

namespace yard {

class SharedJson {
 public:
  SharedJson() : SharedJson(Json()) {}
  // Implicit, as a copy of a Json would be.
  SharedJson(Json tree) : tree_(std::make_shared<const Json>(std::move(tree))) {}
  operator const Json&() const { return *tree_; }
  const Json& operator*() const { return *tree_; }

 private:
  std::shared_ptr<const Json> tree_;
};

}  // namespace yard
