#include <algorithm>

#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"
#include "base/strings.h"

namespace yard {

namespace {

struct QuotaText {
  std::string request, limit;
};

QuotaText quota_text(const Json& quota) {
  std::vector<std::string_view> names;
  for (const auto& member : map_at(quota, {"status", "hard"}))
    names.emplace_back(member.key());
  std::ranges::sort(names);
  std::vector<std::string> requests, limits;
  for (std::string_view name : names) {
    std::string text = fmt::format("{}: {}/{}", name, text_at(quota, {"status", "used", name}, "0"),
                                   text_at(quota, {"status", "hard", name}));
    (name.starts_with("limits") ? limits : requests).push_back(std::move(text));
  }
  return {join(requests, ", "), join(limits, ", ")};
}

}  // namespace

std::vector<Column> resource_quota_columns() {
  return {
      name_column(),
      column("Request", "What is requested, of what may be."),
      column("Limit", "The sum of limits, of what it may be."),
      age_column(),
  };
}

std::string resource_quota_cells(const Json& object) {
  QuotaText text = quota_text(object);
  RowWriter row;
  row.text(name_of(object));
  row.text(text.request);
  row.text(text.limit);
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> priority_class_columns() {
  return {
      name_column(),
      column("Value", "The priority of its pods; more goes first.", "integer"),
      column("Global-Default", "Whether pods without a class get this one.", "boolean"),
      age_column(),
      column("PreemptionPolicy", "Whether its pods may push out others."),
  };
}

std::string priority_class_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(int_at(object, {"value"}));
  row.boolean(bool_at(object, {"globalDefault"}));
  row.age(created_at(object));
  row.text(text_at(object, {"preemptionPolicy"}));
  return row.finish();
}

}  // namespace yard
