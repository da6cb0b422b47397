#pragma once
// What the printers share: columns in a word, and texts of common parts.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/table.h"
#include "api/tree.h"

namespace yard {

Column name_column();
Column age_column();
Column column(std::string_view name, std::string_view description,
              std::string_view type = "string");
Column wide_column(std::string_view name, std::string_view description);

std::string_view or_none(std::string_view text);  // <none> for ""
std::string or_none(std::string&& text);
std::string labels_text(const JsonObject& labels);      // a=1,b=2 by key, <none>
std::string label_selector_text(const Json* selector);  // a=1,b in (x,y), <none>
// The first three and ` + N more...` for the rest; `empty` for no item.
std::string first_three_text(const std::vector<std::string>& items, std::string_view empty);
std::string access_modes_text(const JsonArray& modes);  // RWO,RWX

// `a,b` of spec.containers[*].<member> of a pod spec.
std::string container_members_text(const Json* pod_spec, std::string_view member);

}  // namespace yard
