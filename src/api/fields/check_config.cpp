#include "api/fields/check_config.h"

#include <unordered_set>

#include <fmt/format.h>

#include "api/fields/field_paths.h"
#include "api/fields/ownership.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMaxProblems = 100;

class Checker {
 public:
  std::vector<std::string> problems;

  void check_value(const Schema* schema, const Json& value) {
    if (schema == nullptr || value.is_null() || problems.size() >= kMaxProblems) return;
    switch (schema->type) {
      case Schema::Type::Struct:
      case Schema::Type::Map:
        if (expect(value.is_object(), "map", value)) check_members(*schema, value.get_object());
        return;
      case Schema::Type::List:
        if (expect(value.is_array(), "list", value)) check_items(*schema, value.get_array());
        return;
      case Schema::Type::String: expect(value.is_string(), "string", value); return;
      case Schema::Type::Boolean: expect(value.is_bool(), "boolean", value); return;
      case Schema::Type::Integer:
      case Schema::Type::Number: expect(value.is_number(), "numeric (int or float)", value); return;
      default: return;
    }
  }

  void check_members(const Schema& schema, const JsonObject& object) {
    for (const auto& member : object) {
      const std::string_view name = plain_view(member.key());
      const Field* field = member_field(&schema, name);
      const bool is_root_type = path_.empty() && (name == "apiVersion" || name == "kind");
      path_.push_back({ElementKind::Field, name});
      if (field == nullptr && schema.type == Schema::Type::Struct && !schema.preserve_unknown) {
        if (!is_root_type) report("field not declared in schema");
      } else {
        check_value(member_schema(&schema, field), member.value());
      }
      path_.pop_back();
    }
  }

 private:
  struct Element {
    ElementKind kind;
    std::string_view text;
  };

  void report(std::string_view what) {
    std::string path;
    for (const Element& element : path_)
      append_element(path, element.kind, element.text);
    problems.push_back(fmt::format("{}: {}", path, what));
  }

  bool expect(bool holds, std::string_view type, const Json& value) {
    if (!holds) {
      report(fmt::format("expected {}, got &value.valueUnstructured{{Value:{}}}", type,
                         to_text(value)));
    }
    return holds;
  }

  void check_items(const Schema& list, const JsonArray& array) {
    if (list.list_type == Schema::ListType::Atomic) {
      check_atomic_items(list, array);
      return;
    }
    std::unordered_set<std::string> seen;
    std::string name;
    for (size_t i = 0; i < array.size(); ++i) {
      const ItemProblem problem = name_item(list, array[i], name);
      if (problem != ItemProblem::None) {
        report(fmt::format("element {}: {}", i, words(problem, list)));
        continue;
      }
      if (!seen.insert(name).second) {
        std::string key;
        append_element(key, item_kind(list), name);
        report("duplicate entries for key " + key);
        continue;
      }
      path_.push_back({item_kind(list), name});
      check_value(list.items, array[i]);
      path_.pop_back();
    }
  }

  void check_atomic_items(const Schema& list, const JsonArray& array) {
    for (size_t i = 0; i < array.size(); ++i) {
      const std::string index = std::to_string(i);
      path_.push_back({ElementKind::Index, index});
      check_value(list.items, array[i]);
      path_.pop_back();
    }
  }

  static std::string words(ItemProblem problem, const Schema& list) {
    switch (problem) {
      case ItemProblem::NullItem: return "associative list with keys may not have a null element";
      case ItemProblem::NotAnObject:
        return "associative list with keys may not have non-map elements";
      case ItemProblem::NoKeys: {
        std::vector<std::string> keys;
        for (const std::string& key : list.list_keys)
          keys.push_back(quoted(key));
        return fmt::format(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't "
            "have default values for any key fields)",
            join(keys, " "));
      }
      case ItemProblem::MapInSet:
        return "associative list without keys has an element that's a map type";
      case ItemProblem::ListInSet: return "not supported: associative list with lists as elements";
      case ItemProblem::NullInSet:
        return "associative list without keys has an element that's an explicit null";
      case ItemProblem::None: break;
    }
    return {};
  }

  std::vector<Element> path_;
};

// namespace/name; group/version, Kind=kind
std::string object_words(const Json& config) {
  const std::string_view api_version = text_at(config, {"apiVersion"});
  const bool has_group = api_version.find('/') != std::string_view::npos;
  return fmt::format("{}/{}; {}{}, Kind={}", text_at(config, {"metadata", "namespace"}),
                     text_at(config, {"metadata", "name"}), has_group ? "" : "/", api_version,
                     text_at(config, {"kind"}));
}

}  // namespace

Result<void> check_config(const Json& config, const Schema& schema) {
  Checker checker;
  const JsonObject* object = config.if_object();
  if (object == nullptr) return error(Reason::BadRequest, "the applied object is not an object");
  checker.check_members(schema, *object);
  if (checker.problems.empty()) return {};
  std::string message =
      fmt::format("failed to create typed patch object ({}): ", object_words(config));
  if (checker.problems.size() == 1) {
    message += checker.problems.front();
  } else {
    message += "errors:";
    for (const std::string& problem : checker.problems)
      message += "\n  " + problem;
  }
  return error(Reason::BadRequest, std::move(message));
}

}  // namespace yard
