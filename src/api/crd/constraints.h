#pragma once
// What a custom resource's author allows, compiled once from the JSON schema of a CRD version
// (api-machinery 6.3). It stands beside the Schema tree, which says how values are pruned,
// defaulted, merged and owned.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/field_errors.h"
#include "json/json.h"

namespace re2 {
class RE2;
}

namespace yard {

struct Constraints;
using ConstraintsPtr = std::shared_ptr<const Constraints>;

struct Constraints {
  enum class Type { Any, Object, Array, String, Integer, Number, Boolean, IntOrString };
  enum class ListRule { None, Set, Map };

  Type type = Type::Any;
  bool nullable = false;
  bool embedded_resource = false;
  std::string format;
  std::vector<Json> allowed;  // enum; empty: everything

  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<int64_t> min_length, max_length, min_items, max_items, min_properties,
      max_properties;
  std::string pattern;
  std::shared_ptr<const re2::RE2>
      matcher;  // null where the pattern cannot be compiled: it is then ignored

  std::vector<std::string> required;
  std::map<std::string, ConstraintsPtr, std::less<>> properties;
  ConstraintsPtr additional_properties, items;
  ListRule list_rule = ListRule::None;
  std::vector<std::string> list_keys;

  std::vector<ConstraintsPtr> all_of, any_of, one_of;
  ConstraintsPtr none_of;  // `not`
};

// Never fails: what is not understood constrains nothing.
ConstraintsPtr compile_constraints(const Json& json_schema);

// Everything wrong with `object`, in upstream's words.
FieldErrors validate_custom(const Json& object, const Constraints& constraints);
// The same for an update: what was stored as it is now is tolerated, however wrong.
FieldErrors validate_custom_update(const Json& object, const Json& live,
                                   const Constraints& constraints);

// Whether `text` has the form a `format` asks for; formats that are not known allow everything.
bool has_format(std::string_view format, std::string_view text);
bool is_known_format(std::string_view format);

}  // namespace yard
