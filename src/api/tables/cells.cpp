#include "api/tables/cells.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace yard {

namespace {

std::string sorted_pairs_text(const JsonObject& labels) {
  std::vector<std::string> pairs;
  pairs.reserve(labels.size());
  for (const auto& [key, value] : labels) {
    pairs.push_back(std::string(key) + "=" + std::string(text_of(value)));
  }
  std::ranges::sort(pairs);
  return join(pairs, ",");
}

std::string expression_text(const Json& expression) {
  std::string key(text_at(expression, {"key"}));
  std::string_view op = text_at(expression, {"operator"});
  if (op == "Exists") return key;
  if (op == "DoesNotExist") return "!" + key;
  std::vector<std::string> values;
  for (const Json& value : list_at(expression, {"values"}))
    values.emplace_back(text_of(value));
  std::ranges::sort(values);
  return key + (op == "In" ? " in (" : " notin (") + join(values, ",") + ")";
}

}  // namespace

Column column(std::string_view name, std::string_view description, std::string_view type) {
  return Column{.name = std::string(name),
                .type = std::string(type),
                .format = "",
                .description = std::string(description),
                .priority = 0};
}

Column wide_column(std::string_view name, std::string_view description) {
  Column made = column(name, description);
  made.priority = 1;
  return made;
}

Column name_column() {
  Column made = column("Name", "The object's name, unique among its kind in its namespace.");
  made.format = "name";
  return made;
}

Column age_column() {
  return column("Age", "How long ago the object was created.");
}

std::string_view or_none(std::string_view text) {
  return text.empty() ? "<none>" : text;
}

std::string or_none(std::string&& text) {
  return text.empty() ? "<none>" : std::move(text);
}

std::string labels_text(const JsonObject& labels) {
  return or_none(sorted_pairs_text(labels));
}

std::string label_selector_text(const Json* selector) {
  if (selector == nullptr) return "<none>";
  std::vector<std::string> parts;
  std::string pairs = sorted_pairs_text(map_at(*selector, {"matchLabels"}));
  if (!pairs.empty()) parts.push_back(std::move(pairs));
  for (const Json& expression : list_at(*selector, {"matchExpressions"})) {
    parts.push_back(expression_text(expression));
  }
  return or_none(join(parts, ","));
}

std::string first_three_text(const std::vector<std::string>& items, std::string_view empty) {
  constexpr size_t kShown = 3;
  if (items.empty()) return std::string(empty);
  if (items.size() <= kShown) return join(items, ",");
  std::vector<std::string> shown(items.begin(), items.begin() + kShown);
  return join(shown, ",") + " + " + std::to_string(items.size() - kShown) + " more...";
}

std::string access_modes_text(const JsonArray& modes) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort{{
      {"ReadWriteOnce", "RWO"},
      {"ReadOnlyMany", "ROX"},
      {"ReadWriteMany", "RWX"},
      {"ReadWriteOncePod", "RWOP"},
  }};
  std::vector<std::string> parts;
  for (const auto& [mode, abbreviation] : kShort) {
    bool present = std::ranges::any_of(
        modes, [&, wanted = mode](const Json& value) { return text_of(value) == wanted; });
    if (present) parts.emplace_back(abbreviation);
  }
  return join(parts, ",");
}

std::string container_members_text(const Json* pod_spec, std::string_view member) {
  if (pod_spec == nullptr) return "";
  std::string out;
  for (const Json& container : list_at(*pod_spec, {"containers"})) {
    if (!out.empty()) out += ',';
    out += text_at(container, {member});
  }
  return out;
}

}  // namespace yard
