#pragma once
// The simple JSONPath of printer columns, selectable fields and the scale subresource: members,
// positions, slices, wildcards and comparisons. `.status.conditions[?(@.type=="Ready")].status`

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace yard {

class JsonPath {
 public:
  // BadRequest for a path that cannot be read.
  static Result<JsonPath> parse(std::string_view text);

  // All matches in document order; the pointers live as long as the tree.
  std::vector<const Json*> find_all(const Json& root) const;
  const Json* find_first(const Json& root) const;  // null: none

 private:
  friend class JsonPathReader;
  struct Member {
    std::string name;
  };
  struct Everything {};   // *
  struct Descendants {};  // ..
  struct Range {
    bool single = false;  // [n]
    int64_t begin = 0;
    std::optional<int64_t> end;
    int64_t step = 1;
  };
  struct Filter {
    std::shared_ptr<const JsonPath> left;
    std::string comparison;  // empty: the left side is there
    Json right;
  };
  using Step = std::variant<Member, Everything, Descendants, Range, Filter>;

  static void take(const Step& step, const Json& value, std::vector<const Json*>& out);
  std::vector<Step> steps_;
};

// Members only (`.spec.replicas`), as scale and selectable fields are written: the steps without
// the dots.
std::vector<std::string> simple_path_steps(std::string_view path);

}  // namespace yard
