#include "apiserver/usage_table.h"

#include <map>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/tree.h"

namespace yard {
namespace {

using Amounts = std::map<std::string, Quantity, std::less<>>;

void add(Amounts& sum, const JsonObject& usage) {
  for (const auto& amount : usage) {
    const auto parsed = Quantity::parse(text_of(amount.value()));
    if (!parsed) continue;
    const auto [place, is_new] = sum.try_emplace(std::string(amount.key()), *parsed);
    if (!is_new) place->second = place->second + *parsed;
  }
}

// Of a node, or of all containers of a pod.
Amounts amounts_of(const Json& metrics) {
  Amounts out;
  add(out, map_at(metrics, {"usage"}));
  for (const Json& container : list_at(metrics, {"containers"}))
    add(out, map_at(container, {"usage"}));
  return out;
}

JsonObject column_definition(std::string_view name, std::string_view format,
                             std::string_view description = "") {
  return {{"name", name},
          {"type", "string"},
          {"format", format},
          {"description", description},
          {"priority", 0}};
}

Json shown_object(const Json& metrics, const Rendering& rendering) {
  if (rendering.include == IncludeObject::Object) return metrics;
  const Json* metadata = find(metrics, "metadata");
  return JsonObject{{"kind", "PartialObjectMetadata"},
                    {"apiVersion", "meta.k8s.io/" + rendering.representation.transform_version},
                    {"metadata", metadata != nullptr ? *metadata : Json(JsonObject())}};
}

}  // namespace

std::string window_text(Duration window) {
  const int64_t all = std::chrono::duration_cast<std::chrono::milliseconds>(window).count();
  if (all > 0 && all < 1000) return fmt::format("{}ms", all);
  const int64_t minutes = all / 60'000, seconds = all / 1000 % 60, rest = all % 1000;
  std::string out = minutes > 0 ? fmt::format("{}m{}", minutes, seconds) : std::to_string(seconds);
  if (rest > 0) {
    out += fmt::format(".{:03}", rest);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out + "s";
}

Json usage_table(const JsonArray& metrics, const Rendering& rendering) {
  JsonArray columns, rows;
  Amounts wanted;
  for (const Json& each : metrics) {
    const Amounts amounts = amounts_of(each);
    if (rows.empty()) {
      wanted = amounts;
      columns.push_back(column_definition("Name", "name", "Name of the resource"));
      for (const auto& [name, amount] : wanted)
        columns.push_back(column_definition(name, "quantity"));
      columns.push_back(column_definition("Window", "duration"));
    }
    JsonArray cells{name_of(each)};
    for (const auto& [name, of_first] : wanted) {
      const auto found = amounts.find(name);
      cells.emplace_back(found != amounts.end() ? found->second.canonical() : "0");
    }
    cells.emplace_back(text_at(each, {"window"}));
    JsonObject row{{"cells", std::move(cells)}};
    if (rendering.include != IncludeObject::None) row["object"] = shown_object(each, rendering);
    rows.push_back(std::move(row));
  }
  return JsonObject{{"kind", "Table"},
                    {"apiVersion", "meta.k8s.io/" + rendering.representation.transform_version},
                    {"metadata", JsonObject{}},
                    {"columnDefinitions", std::move(columns)},
                    {"rows", std::move(rows)}};
}

}  // namespace yard
