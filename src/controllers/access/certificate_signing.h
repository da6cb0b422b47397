#pragma once
// Signs approved CertificateSigningRequests of the signer kubernetes.io/kube-apiserver-client with
// our certificate authority. Loop thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

using SignCertificate =
    std::function<Result<std::string>(const std::string& request_pem, Duration valid)>;

// What to do with a request. Pure.
struct SigningDecision {
  enum class Act { Nothing, Sign, Refuse };
  Act act = Act::Nothing;
  std::string why;  // of a refusal
  Duration valid{};
};
SigningDecision decide_signing(const Json& request);

class CertificateSigning {
 public:
  CertificateSigning(Loop& loop, Client& client, SignCertificate sign);
  ~CertificateSigning();
  CertificateSigning(const CertificateSigning&) = delete;
  CertificateSigning& operator=(const CertificateSigning&) = delete;

 private:
  void look(const std::string& name);

  Loop& loop_;
  Client& client_;
  SignCertificate sign_;
  Client::Subscription subscription_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
