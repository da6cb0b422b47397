#include "cli/kubeconfig.h"

#include <fmt/format.h>

namespace yard {
namespace {

Result<void> merge_list(JsonObject& config, const Json& ours, std::string_view key,
                        bool& is_replaced) {
  const Json* added = find(ours, key);
  if (added == nullptr || !added->is_array()) return {};
  Json& list = config[key];
  if (list.is_null()) list = JsonArray();
  if (!list.is_array()) {
    return error(Reason::BadRequest, fmt::format("{} is no list; mend the file first", key));
  }
  for (const Json& entry : added->get_array()) {
    Json* same = nullptr;
    for (Json& other : list.get_array()) {
      if (text_at(other, {"name"}) == text_at(entry, {"name"})) same = &other;
    }
    if (same == nullptr) {
      list.get_array().push_back(entry);
    } else if (!equal(*same, entry)) {
      *same = entry;
      is_replaced = true;
    }
  }
  return {};
}

}  // namespace

Result<MergedKubeconfig> merged_kubeconfig(const Json& existing, const Json& ours) {
  if (!existing.is_null() && !existing.is_object()) {
    return error(Reason::BadRequest,
                 "it is no kubeconfig: not a mapping; mend or move the file first");
  }
  const std::string_view kind = text_at(existing, {"kind"}, "Config");
  if (kind != "Config") {
    return error(Reason::BadRequest, fmt::format("it is no kubeconfig: its kind is {}", kind));
  }
  MergedKubeconfig merged;
  merged.config = existing.is_null() ? Json(JsonObject()) : existing;
  JsonObject& config = merged.config.get_object();
  if (!config.contains("apiVersion")) config["apiVersion"] = "v1";
  if (!config.contains("kind")) config["kind"] = "Config";
  for (const std::string_view key : {"clusters", "users", "contexts"})
    TRY(merge_list(config, ours, key, merged.is_replaced));
  merged.previous_context = text_at(existing, {"current-context"});
  config["current-context"] = text_at(ours, {"current-context"});
  merged.is_changed = !equal(existing, merged.config);
  return merged;
}

}  // namespace yard
