#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"
#include "base/strings.h"

namespace yard {

std::vector<Column> role_binding_columns() {
  return {name_column(),
          column("Role", "The role that is granted."),
          age_column(),
          wide_column("Users", "Users it is granted to."),
          wide_column("Groups", "Groups it is granted to."),
          wide_column("ServiceAccounts", "ServiceAccounts it is granted to.")};
}

std::string role_binding_cells(const Json& object) {
  std::vector<std::string> users, groups, accounts;
  for (const Json& subject : list_at(object, {"subjects"})) {
    const std::string_view kind = text_at(subject, {"kind"}), name = text_at(subject, {"name"});
    if (kind == "User") users.emplace_back(name);
    if (kind == "Group") groups.emplace_back(name);
    if (kind == "ServiceAccount")
      accounts.push_back(fmt::format("{}/{}", text_at(subject, {"namespace"}), name));
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(fmt::format("{}/{}", text_at(object, {"roleRef", "kind"}),
                       text_at(object, {"roleRef", "name"})));
  row.age(created_at(object));
  row.text(join(users, ", "));
  row.text(join(groups, ", "));
  row.text(join(accounts, ", "));
  return row.finish();
}

}  // namespace yard
