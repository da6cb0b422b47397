#include "api/core/data_limits.h"
#include "api/kinds.h"
#include "api/tables.h"

namespace yard {

namespace {

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  size_t total = 0;
  check_data_keys(errors, object, "data");
  for (const auto& entry : map_at(object, {"data"})) {
    std::string_view key(entry.key());
    if (find_path(object, {"binaryData", key}) != nullptr) {
      errors.push_back(
          invalid(FieldPath("data").key(key), Json(key), "duplicate of key present in binaryData"));
    }
    total += text_of(entry.value()).size();
  }
  check_data_keys(errors, object, "binaryData");
  for (const auto& entry : map_at(object, {"binaryData"})) {
    total += base64_decoded_size(text_of(entry.value()));
  }
  if (total > kMaxDataBytes) errors.push_back(too_long(FieldPath(), kMaxDataBytes));
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable_data(errors, object, live, {"data", "binaryData"});
  return errors;
}

}  // namespace

Kind config_map_kind() {
  Kind row = ordinary_kind({"", "v1", "ConfigMap", "configmaps"});
  row.short_names = {"cm"};
  row.columns = config_map_columns();
  row.cells = config_map_cells;
  row.validate = validate;
  row.validate_update = validate_update;
  return row;
}

}  // namespace yard
