#include "controllers/access/certificate_signing.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

TEST(CertificateSigning, SignsWhatIsApprovedAndItsOwn) {
  using Act = SigningDecision::Act;
  const char* const kApproved =
      "{spec: {signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}, status: "
      "{conditions: [{type: Approved, status: 'True'}]}}";
  const struct {
    const char* about;
    const char* change;
    Act act;
    int64_t seconds;
  } rows[] = {
      {"an approved request", "{}", Act::Sign, 365 * 24 * 3600},
      {"for as long as it asks", "{spec: {expirationSeconds: 3600}}", Act::Sign, 3600},
      {"but never longer than a year", "{spec: {expirationSeconds: 99999999}}", Act::Sign,
       365 * 24 * 3600},
      {"one that nobody looked at", "{status: {conditions: []}}", Act::Nothing, 0},
      {"one that was denied", "{status: {conditions: [{type: Denied, status: 'True'}]}}",
       Act::Nothing, 0},
      {"one that has its certificate", "{status: {certificate: eA==}}", Act::Nothing, 0},
      {"one for another signer", "{spec: {signerName: example.com/mine}}", Act::Nothing, 0},
      {"one for a server", "{spec: {usages: [server auth]}}", Act::Refuse, 0},
      {"one for nothing in particular", "{spec: {usages: [digital signature]}}", Act::Refuse, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.about);
    const SigningDecision decision = decide_signing(changed(yaml(kApproved), row.change));
    EXPECT_EQ(decision.act, row.act) << decision.why;
    EXPECT_EQ(std::chrono::duration_cast<std::chrono::seconds>(decision.valid).count(),
              row.seconds);
  }
}

}  // namespace
}  // namespace yard
