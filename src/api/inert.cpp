#include "api/inert.h"

#include "api/tree.h"

namespace yard {

void make_inert(Kind& row, std::string_view text, bool in_status) {
  row.warnings = [text, others = row.warnings](const Json& object) {
    std::vector<std::string> out{std::string(text)};
    if (others) {
      for (std::string& warning : others(object))
        out.push_back(std::move(warning));
    }
    return out;
  };
  if (!in_status) return;
  row.prepare_create = [text](Json& object, const Admission& admission) -> Result<void> {
    section(object, "status")["conditions"] =
        JsonArray{JsonObject{{"type", "Inert"},
                             {"status", "True"},
                             {"lastTransitionTime", rfc3339(admission.now)},
                             {"reason", "NoController"},
                             {"message", text}}};
    return {};
  };
}

}  // namespace yard
