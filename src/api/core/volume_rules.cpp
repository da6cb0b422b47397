#include "api/core/volume_rules.h"

#include <algorithm>

#include "api/meta/names.h"
#include "api/meta/quantity.h"

namespace yard {

void check_access_modes(FieldErrors& errors, const Json& object, std::string_view missing) {
  const FieldPath path("spec.accessModes");
  const JsonArray& modes = list_at(object, {"spec", "accessModes"});
  if (modes.empty()) errors.push_back(required(path, missing));
  for (const Json& mode : modes) {
    check_one_of(errors, path, &mode,
                 {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"},
                 Presence::Required);
  }
  auto is_single_pod = [](const Json& mode) { return text_of(mode) == "ReadWriteOncePod"; };
  if (modes.size() > 1 && std::ranges::any_of(modes, is_single_pod)) {
    errors.push_back(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
}

void check_class_and_mode(FieldErrors& errors, const Json& object) {
  const std::string_view class_name = text_at(object, {"spec", "storageClassName"});
  if (!class_name.empty()) {
    add_problems(errors, FieldPath("spec.storageClassName"), class_name,
                 dns1123_subdomain_problems(class_name));
  }
  check_one_of(errors, FieldPath("spec.volumeMode"), find_path(object, {"spec", "volumeMode"}),
               {"Block", "Filesystem"});
}

void check_positive_quantity(FieldErrors& errors, const FieldPath& path, const Json& value) {
  Result<Quantity> quantity = Quantity::parse(text_of(value));
  if (!quantity) {
    errors.push_back(invalid(path, value, quantity.error().message));
  } else if (quantity->is_zero() || quantity->is_negative()) {
    errors.push_back(invalid(path, value, "must be greater than zero"));
  }
}

}  // namespace yard
