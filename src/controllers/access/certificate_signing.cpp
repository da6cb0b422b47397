#include "controllers/access/certificate_signing.h"

#include <algorithm>

#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

const Resource kRequest{"certificates.k8s.io/v1", "CertificateSigningRequest"};
constexpr std::string_view kOurSigner = "kubernetes.io/kube-apiserver-client";
constexpr Duration kLongest = std::chrono::hours(24 * 365);  // as upstream signs by default

bool has(const Json& request, std::string_view condition) {
  return condition_status(request, condition) == "True";
}

Json with_failure(Json request, const std::string& why, Time now) {
  JsonObject& status = section(request, "status");
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
  status["conditions"].get_array().push_back(JsonObject{{"type", "Failed"},
                                                        {"status", "True"},
                                                        {"reason", "SignerValidationFailure"},
                                                        {"message", why},
                                                        {"lastUpdateTime", rfc3339(now)},
                                                        {"lastTransitionTime", rfc3339(now)}});
  return request;
}

}  // namespace

SigningDecision decide_signing(const Json& request) {
  using Act = SigningDecision::Act;
  if (text_at(request, {"spec", "signerName"}) != kOurSigner || !has(request, "Approved") ||
      has(request, "Denied") || has(request, "Failed") ||
      !text_at(request, {"status", "certificate"}).empty() || is_being_deleted(request))
    return {};
  bool for_clients = false;
  for (const Json& usage : list_at(request, {"spec", "usages"})) {
    const std::string_view word = text_of(usage);
    for_clients |= word == "client auth";
    if (word != "client auth" && word != "digital signature" && word != "key encipherment")
      return {Act::Refuse, "invalid usage for client certificate: " + std::string(word)};
  }
  if (!for_clients)
    return {Act::Refuse, "invalid usage for client certificate: client auth is missing"};
  const int64_t seconds = int_at(request, {"spec", "expirationSeconds"});
  const Duration asked = seconds > 0 ? Duration(std::chrono::seconds(seconds)) : kLongest;
  return {Act::Sign, "", std::min(asked, kLongest)};
}

CertificateSigning::CertificateSigning(Loop& loop, Client& client, SignCertificate sign)
    : loop_(loop), client_(client), sign_(std::move(sign)) {
  subscription_ = client_.follow(kRequest, [this](const ObjectEvent& event) {
    if (event.type != ObjectEvent::Type::Deleted) look(std::string(event.object->name()));
  });
  for (const ObjectPtr& request : client_.list(kRequest))
    look(std::string(request->name()));
}

CertificateSigning::~CertificateSigning() {
  *alive_ = false;
  client_.unfollow(subscription_);
}

void CertificateSigning::look(const std::string& name) {
  loop_.post([this, name, alive = alive_] {
    const ObjectPtr object = *alive ? client_.get(kRequest, "", name) : nullptr;
    if (object == nullptr) return;
    Json request = object->tree();
    const SigningDecision decision = decide_signing(request);
    if (decision.act == SigningDecision::Act::Nothing) return;
    std::string why = decision.why;
    if (decision.act == SigningDecision::Act::Sign) {
      const auto pem = base64_decode(text_at(request, {"spec", "request"}));
      auto certificate = sign_(pem ? *pem : std::string(), decision.valid);
      if (certificate) section(request, "status")["certificate"] = base64_encode(*certificate);
      if (!certificate) why = certificate.error().message;
    }
    if (!why.empty()) request = with_failure(std::move(request), why, loop_.now());
    client_.submit({ClientWrite::Verb::UpdateStatus, kRequest, "", name, std::move(request)},
                   [name](const Result<ObjectPtr>& written) {
                     if (written || written.error().reason == Reason::Conflict) return;
                     log_warning("certificate request {}: {}", name, written.error().message);
                   });
  });
}

}  // namespace yard
