#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "api/crd/constraints.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

using Type = Constraints::Type;

constexpr size_t kMostErrors = 200;  // a body of a million mistakes is told the first few

const char* type_name(Type type) {
  switch (type) {
    case Type::Object: return "object";
    case Type::Array: return "array";
    case Type::String: return "string";
    case Type::Integer: return "integer";
    case Type::Number: return "number";
    case Type::Boolean: return "boolean";
    case Type::IntOrString: return "integer,string";
    case Type::Any: break;
  }
  return "";
}

bool is_whole(double number) {
  return std::isfinite(number) && std::floor(number) == number;
}

const char* type_name(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  if (const double* number = value.if_double()) return is_whole(*number) ? "integer" : "number";
  return "integer";
}

bool has_type(const Json& value, Type type) {
  const auto is_integer = [&] {
    return value.is_int64() || value.is_uint64() ||
           (value.is_double() && is_whole(value.get_double()));
  };
  switch (type) {
    case Type::Any: return true;
    case Type::Object: return value.is_object();
    case Type::Array: return value.is_array();
    case Type::String: return value.is_string();
    case Type::Integer: return is_integer();
    case Type::Number: return value.is_number();
    case Type::Boolean: return value.is_bool();
    case Type::IntOrString: return value.is_string() || is_integer();
  }
  return false;
}

double number_of(const Json& value) {
  if (const int64_t* whole = value.if_int64()) return static_cast<double>(*whole);
  if (const uint64_t* large = value.if_uint64()) return static_cast<double>(*large);
  return value.get_double();
}

// Characters, not bytes: what minLength and maxLength count.
int64_t characters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text)
    count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// The item's keys as the list knows it by: {"p":1}.
Json key_of(const Json& item, const std::vector<std::string>& keys) {
  JsonObject key;
  for (const std::string& name : keys) {
    if (const Json* value = find(item, name)) key[name] = *value;
  }
  return key;
}

class CustomWalk {
 public:
  explicit CustomWalk(FieldErrors& errors) : errors_(errors) {}

  // `old` is the same place of the stored object, null where there is none.
  void check(const FieldPath& path, const Json& value, const Json* old, const Constraints& rules) {
    if (errors_.size() >= kMostErrors) return;
    if (old != nullptr && equal(*old, value)) return;
    if (value.is_null() && (rules.nullable || rules.type == Type::Any)) return;
    if (!has_type(value, rules.type)) {
      wrong_type(path, Json(type_name(value)), type_name(rules.type), Json(type_name(value)));
      check_allowed(path, value, rules);
      return;
    }
    check_allowed(path, value, rules);
    if (value.is_string()) check_text(path, value, rules);
    if (value.is_number()) check_number(path, value, rules);
    if (value.is_array()) check_list(path, value.get_array(), old, rules);
    if (value.is_object()) check_members(path, value, old, rules);
    check_junctors(path, value, old, rules);
  }

 private:
  void add(Cause cause) {
    if (errors_.size() < kMostErrors) errors_.push_back(std::move(cause));
  }
  void refuse(const FieldPath& path, const Json& value, std::string_view must) {
    add(invalid(path, value, fmt::format("{} in body {}", path.text(), must)));
  }
  void wrong_type(const FieldPath& path, const Json& shown, std::string_view wanted,
                  const Json& found) {
    add(type_invalid(path, shown,
                     fmt::format("{} in body must be of type {}: {}", path.text(), wanted,
                                 found.is_string() ? quoted(text_of(found)) : to_text(found))));
  }

  void check_allowed(const FieldPath& path, const Json& value, const Constraints& rules) {
    if (rules.allowed.empty()) return;
    std::vector<std::string> texts;
    for (const Json& allowed : rules.allowed) {
      if (equal(allowed, value)) return;
      texts.push_back(allowed.is_string() ? std::string(text_of(allowed)) : to_text(allowed));
    }
    add(not_supported(path, value, texts));
  }

  void check_text(const FieldPath& path, const Json& value, const Constraints& rules) {
    const std::string_view text = text_of(value);
    if (rules.max_length && characters(text) > *rules.max_length) {
      add(too_long(path, static_cast<size_t>(*rules.max_length)));
    }
    if (rules.min_length && characters(text) < *rules.min_length) {
      refuse(path, value, fmt::format("should be at least {} chars long", *rules.min_length));
    }
    if (rules.matcher != nullptr &&
        !re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *rules.matcher)) {
      refuse(path, value, fmt::format("should match '{}'", rules.pattern));
    }
    if (!rules.format.empty() && !has_format(rules.format, text)) {
      wrong_type(path, value, rules.format, value);
    }
  }

  void check_number(const FieldPath& path, const Json& value, const Constraints& rules) {
    const double number = number_of(value);
    if (rules.minimum) {
      const bool low = rules.exclusive_minimum ? number <= *rules.minimum : number < *rules.minimum;
      if (low) {
        refuse(path, value,
               fmt::format("should be greater than {}{}",
                           rules.exclusive_minimum ? "" : "or equal to ", *rules.minimum));
      }
    }
    if (rules.maximum) {
      const bool high =
          rules.exclusive_maximum ? number >= *rules.maximum : number > *rules.maximum;
      if (high) {
        refuse(path, value,
               fmt::format("should be less than {}{}",
                           rules.exclusive_maximum ? "" : "or equal to ", *rules.maximum));
      }
    }
    if (rules.multiple_of && *rules.multiple_of > 0 && !is_whole(number / *rules.multiple_of)) {
      refuse(path, value, fmt::format("should be a multiple of {}", *rules.multiple_of));
    }
  }

  void check_list(const FieldPath& path, const JsonArray& list, const Json* old,
                  const Constraints& rules) {
    const auto size = static_cast<int64_t>(list.size());
    if (rules.max_items && size > *rules.max_items) {
      add(too_many(path, list.size(), static_cast<size_t>(*rules.max_items)));
    }
    if (rules.min_items && size < *rules.min_items) {
      refuse(path, Json(size), fmt::format("should have at least {} items", *rules.min_items));
    }
    check_unique(path, list, rules);
    if (rules.items == nullptr) return;
    const OldItems old_items(old, rules);
    for (size_t i = 0; i < list.size(); ++i) {
      check(path.index(i), list[i], old_items.find(list[i], rules), *rules.items);
    }
  }

  // Items of the stored list that stand for the same thing: only a list with keys can tell.
  class OldItems {
   public:
    OldItems(const Json* old, const Constraints& rules) {
      if (old == nullptr || !old->is_array() || rules.list_rule != Constraints::ListRule::Map)
        return;
      for (const Json& item : old->get_array())
        by_key_.emplace(to_text(key_of(item, rules.list_keys)), &item);
    }
    const Json* find(const Json& item, const Constraints& rules) const {
      if (by_key_.empty()) return nullptr;
      const auto found = by_key_.find(to_text(key_of(item, rules.list_keys)));
      return found == by_key_.end() ? nullptr : found->second;
    }

   private:
    std::map<std::string, const Json*> by_key_;
  };

  void check_unique(const FieldPath& path, const JsonArray& list, const Constraints& rules) {
    if (rules.list_rule == Constraints::ListRule::None) return;
    const bool by_keys = rules.list_rule == Constraints::ListRule::Map;
    std::set<std::string> seen;
    for (size_t i = 0; i < list.size(); ++i) {
      Json identity = by_keys ? key_of(list[i], rules.list_keys) : list[i];
      if (!seen.insert(to_text(identity)).second) add(duplicate(path.index(i), identity));
    }
  }

  void check_members(const FieldPath& path, const Json& value, const Json* old,
                     const Constraints& rules) {
    const JsonObject& object = value.get_object();
    const auto size = static_cast<int64_t>(object.size());
    if (rules.max_properties && size > *rules.max_properties) {
      add(too_many(path, object.size(), static_cast<size_t>(*rules.max_properties)));
    }
    if (rules.min_properties && size < *rules.min_properties) {
      refuse(path, Json(size),
             fmt::format("should have at least {} properties", *rules.min_properties));
    }
    for (const std::string& name : rules.required) {
      if (!object.contains(name)) add(required(path.child(name)));
    }
    if (rules.embedded_resource) {
      for (const char* name : {"apiVersion", "kind"}) {
        if (text_at(value, {name}).empty()) add(required(path.child(name)));
      }
    }
    if (rules.properties.empty() && rules.additional_properties == nullptr) return;
    for (const auto& member : object) {
      const std::string_view name = member.key();
      const auto property = rules.properties.find(name);
      const Constraints* own = property != rules.properties.end()
                                   ? property->second.get()
                                   : rules.additional_properties.get();
      if (own == nullptr) continue;
      check(path.child(name), member.value(), old == nullptr ? nullptr : find(*old, name), *own);
    }
  }

  FieldErrors errors_of(const FieldPath& path, const Json& value, const Json* old,
                        const Constraints& rules) {
    FieldErrors errors;
    CustomWalk(errors).check(path, value, old, rules);
    return errors;
  }

  // Of several alternatives: how many fit, and the complaints of the one that nearly did.
  struct Fit {
    size_t fitting = 0;
    FieldErrors nearest;
  };
  Fit fit(const FieldPath& path, const Json& value, const Json* old,
          const std::vector<ConstraintsPtr>& alternatives) {
    Fit out;
    for (const ConstraintsPtr& alternative : alternatives) {
      FieldErrors errors = errors_of(path, value, old, *alternative);
      if (errors.empty()) {
        ++out.fitting;
      } else if (out.nearest.empty() || errors.size() < out.nearest.size()) {
        out.nearest = std::move(errors);
      }
    }
    return out;
  }

  void refuse_junction(const FieldPath& path, std::string_view must) {
    // Upstream has no field for it: the message names the place.
    add(invalid(FieldPath("<nil>"), Json(""), fmt::format("{} {}", quoted(path.text()), must)));
  }
  void add_all(FieldErrors errors) {
    for (Cause& cause : errors)
      add(std::move(cause));
  }

  void check_junctors(const FieldPath& path, const Json& value, const Json* old,
                      const Constraints& rules) {
    if (!rules.all_of.empty()) {
      const size_t before = errors_.size();
      for (const ConstraintsPtr& alternative : rules.all_of)
        check(path, value, old, *alternative);
      if (errors_.size() > before) refuse_junction(path, "must validate all the schemas (allOf)");
    }
    if (!rules.any_of.empty()) {
      Fit any = fit(path, value, old, rules.any_of);
      if (any.fitting == 0) {
        refuse_junction(path, "must validate at least one schema (anyOf)");
        add_all(std::move(any.nearest));
      }
    }
    if (!rules.one_of.empty()) {
      Fit one = fit(path, value, old, rules.one_of);
      if (one.fitting != 1) {
        refuse_junction(
            path, "must validate one and only one schema (oneOf). " +
                      (one.fitting == 0 ? std::string("Found none valid")
                                        : fmt::format("Found {} valid alternatives", one.fitting)));
        if (one.fitting == 0) add_all(std::move(one.nearest));
      }
    }
    if (rules.none_of != nullptr && errors_of(path, value, nullptr, *rules.none_of).empty()) {
      refuse_junction(path, "must not validate the schema (not)");
    }
  }

  FieldErrors& errors_;
};

}  // namespace

FieldErrors validate_custom(const Json& object, const Constraints& constraints) {
  FieldErrors errors;
  CustomWalk(errors).check(FieldPath(), object, nullptr, constraints);
  return errors;
}

FieldErrors validate_custom_update(const Json& object, const Json& live,
                                   const Constraints& constraints) {
  FieldErrors errors = validate_custom(object, constraints);
  if (errors.empty()) return errors;
  errors.clear();
  CustomWalk(errors).check(FieldPath(), object, &live, constraints);
  return errors;
}

}  // namespace yard
