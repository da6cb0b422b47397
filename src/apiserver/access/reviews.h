#pragma once
// The questions clients ask about access: authorization.k8s.io and authentication.k8s.io. Pure;
// each answers the review's status, or why it cannot be asked.

#include "apiserver/access/rbac.h"

namespace yard {

// SubjectAccessReview, LocalSubjectAccessReview (with `ns`, where it was posted) and
// SelfSubjectAccessReview (about `asker`).
Result<Json> access_review_status(std::string_view kind, std::string_view ns, const Json& review,
                                  const AccessRules& rules, const User& asker);
Result<Json> rules_review_status(const Json& review, const AccessRules& rules, const User& asker);

Json user_info(const User& user);  // authentication.k8s.io UserInfo

}  // namespace yard
