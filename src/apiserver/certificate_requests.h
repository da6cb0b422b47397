#pragma once
// What of a CertificateSigningRequest depends on who writes it: who asks is written into a new one,
// approving needs a right of its own, and nobody asks for the administrators' group.

#include "apiserver/access/rbac.h"
#include "apiserver/committer.h"

namespace yard {

bool is_certificate_request(const Kind& kind);

using WritePlanFunction = decltype(WriteJob::plan);
WritePlanFunction certificate_request_plan(WritePlanFunction plan,
                                           std::shared_ptr<const AccessRules> rules, User user,
                                           std::string subresource);

}  // namespace yard
