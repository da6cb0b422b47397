#include "api/kinds.h"
#include "api/tables.h"
#include "api/validation.h"

namespace yard {

namespace {

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath spec("spec");
  if (find_path(object, {"spec", "leaseDurationSeconds"}) != nullptr) {
    int64_t seconds = int_at(object, {"spec", "leaseDurationSeconds"});
    if (seconds <= 0) {
      errors.push_back(
          invalid(spec.child("leaseDurationSeconds"), Json(seconds), "must be greater than 0"));
    }
  }
  int64_t transitions = int_at(object, {"spec", "leaseTransitions"});
  if (transitions < 0) {
    errors.push_back(invalid(spec.child("leaseTransitions"), Json(transitions),
                             "must be greater than or equal to 0"));
  }
  if (!text_at(object, {"spec", "preferredHolder"}).empty() &&
      text_at(object, {"spec", "strategy"}).empty()) {
    errors.push_back(
        forbidden(spec.child("preferredHolder"), "may only be specified if `strategy` is defined"));
  }
  return errors;
}

}  // namespace

Kind lease_kind() {
  Kind row = ordinary_kind({"coordination.k8s.io", "v1", "Lease", "leases"});
  row.allows_unconditional_update = false;
  row.creates_on_update = true;
  row.columns = lease_columns();
  row.cells = lease_cells;
  row.validate = validate;
  return row;
}

}  // namespace yard
