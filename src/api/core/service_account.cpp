#include "api/kinds.h"
#include "api/tables.h"

namespace yard {

Kind service_account_kind() {
  Kind row = ordinary_kind({"", "v1", "ServiceAccount", "serviceaccounts"});
  row.short_names = {"sa"};
  row.allows_unconditional_update = false;
  row.returns_deleted_object = true;
  row.subresources = {Subresource{.name = "token",
                                  .kind = "TokenRequest",
                                  .group = "authentication.k8s.io",
                                  .version = "v1",
                                  .verbs = {"create"}}};
  row.columns = service_account_columns();
  row.cells = service_account_cells;
  return row;
}

}  // namespace yard
