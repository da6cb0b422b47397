#include "controllers/batch/claim_pods.h"

#include "api/tree.h"
#include "controllers/batch/job_pod.h"

namespace yard {
namespace {

PodClaim claim_on(const Json& pod, Revision revision) {
  return {.name = std::string(name_of(pod)),
          .uid = std::string(text_at(pod, {"metadata", "uid"})),
          .revision = revision,
          .owners = {},
          .finalizers = {}};
}

}  // namespace

PodClaim adoption(const JobFacts& job, const Json& pod, Revision revision) {
  PodClaim claim = claim_on(pod, revision);
  claim.owners = list_at(pod, {"metadata", "ownerReferences"});
  claim.owners.push_back(owner_reference(job));
  JsonObject metadata{{"finalizers", list_at(pod, {"metadata", "finalizers"})}};
  add_text_once(metadata, "finalizers", kTrackingFinalizer);
  claim.finalizers = std::move(metadata["finalizers"].get_array());
  return claim;
}

PodClaim release_claim(const JobFacts& job, const Json& pod, Revision revision) {
  PodClaim claim = claim_on(pod, revision);
  for (const Json& owner : list_at(pod, {"metadata", "ownerReferences"}))
    if (text_at(owner, {"uid"}) != job.uid) claim.owners.push_back(owner);
  for (const Json& finalizer : list_at(pod, {"metadata", "finalizers"}))
    if (text_of(finalizer) != kTrackingFinalizer) claim.finalizers.push_back(finalizer);
  return claim;
}

std::optional<OwnerRef> controller_of(const Object& pod) {
  for (const OwnerRef& owner : pod.owners())
    if (owner.controller) return owner;
  return std::nullopt;
}

}  // namespace yard
