// node.k8s.io/v1. Stored and listed; every pod runs in the one sandbox of this machine.

#include "api/checks.h"
#include "api/inert.h"
#include "api/kinds.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "api/tree.h"

namespace yard {
namespace {

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const std::string_view handler = text_at(object, {"handler"});
  if (handler.empty()) {
    errors.push_back(required(FieldPath("handler")));
  } else {
    add_problems(errors, FieldPath("handler"), handler, dns1123_label_problems(handler));
  }
  for (const auto& amount : map_at(object, {"overhead", "podFixed"})) {
    const auto parsed = Quantity::parse(text_of(amount.value()));
    if (parsed && parsed->is_negative())
      errors.push_back(invalid(FieldPath("overhead.limits").key(amount.key()), amount.value(),
                               kNotNegative));  // upstream's name for it
  }
  return errors;
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  check_immutable(errors, FieldPath("handler"), find(object, "handler"), find(live, "handler"));
  return errors;
}

std::string cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"handler"}));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace

Kind runtime_class_kind() {
  Kind row = ordinary_kind({"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"});
  row.namespaced = false;
  row.columns = {name_column(), column("Handler", "What runs its pods elsewhere."), age_column()};
  row.cells = cells;
  row.validate = validate;
  row.validate_update = validate_update;
  make_inert(row,
             "Trainyard keeps this object but runs every pod in its own sandbox, whatever its "
             "runtime class",
             false);
  return row;
}

}  // namespace yard
