#pragma once
// What a request asks for, in the words access rules have. Pure.

#include "apiserver/access/rbac.h"
#include "apiserver/request.h"

namespace yard {

// `resource` is null for paths that are no resource.
AccessAttributes request_attributes(const HttpRequest& request, const Query& query,
                                    const ResourcePath* resource);

// Impersonation: the user that the headers name, and what the asker must be allowed for it.
struct Impersonation {
  User user;
  std::vector<AccessAttributes> needed;
};
// nullopt: nobody is impersonated.
Result<std::optional<Impersonation>> read_impersonation(const HttpRequest& request);

}  // namespace yard
