#pragma once
// Label and field selectors (api-machinery 4.4).

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"

namespace yard {

class LabelSelector {
 public:
  static Result<LabelSelector> parse(
      std::string_view text);  // the query parameter; "" selects everything
  static Result<LabelSelector> from_json(const Json& selector);  // matchLabels + matchExpressions
  bool matches(const Object& object) const;
  bool matches_labels(const Json& labels) const;  // labels: a JSON object or null
  bool is_everything() const { return requirements_.empty(); }

 private:
  friend class LabelSelectorParser;
  enum class Operator { In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  template <typename Lookup>
  bool holds(const Lookup& label) const;
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  // Resolves each path against the kind; an unknown one is BadRequest in the kind's words.
  static Result<FieldSelector> parse(std::string_view text, const Kind& kind);
  bool matches(const Object& object) const;
  bool is_everything() const { return requirements_.empty(); }
  // metadata.name=x as the whole or part of it: lets a list become a lookup.
  std::optional<std::string> required_name() const;

 private:
  struct Requirement {
    int field;  // index into Object::fields(); -1 metadata.name, -2 metadata.namespace
    std::string value;
    bool equal;
  };
  std::vector<Requirement> requirements_;
};

}  // namespace yard
