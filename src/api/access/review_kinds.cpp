// Kinds that are asked, never stored: a POST is answered with the review's status.

#include "api/kinds.h"

namespace yard {
namespace {

Kind review_kind(const KindNames& names) {
  Kind row = ordinary_kind(names);
  row.verbs = {"create"};
  row.namespaced = false;
  row.storage.clear();
  return row;
}

}  // namespace

Kind token_review_kind() {
  return review_kind({"authentication.k8s.io", "v1", "TokenReview", "tokenreviews"});
}

Kind self_subject_review_kind() {
  return review_kind({"authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews"});
}

Kind subject_access_review_kind() {
  return review_kind({"authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews"});
}

Kind self_subject_access_review_kind() {
  return review_kind(
      {"authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"});
}

Kind self_subject_rules_review_kind() {
  return review_kind(
      {"authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews"});
}

Kind local_subject_access_review_kind() {
  Kind row = review_kind(
      {"authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews"});
  row.namespaced = true;
  return row;
}

}  // namespace yard
