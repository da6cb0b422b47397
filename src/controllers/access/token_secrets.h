#pragma once
// Secrets of type kubernetes.io/service-account-token: filled with a token, the CA and the
// namespace; removed with their ServiceAccount. Loop thread.

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct SecretTokenWanted {
  std::string ns, account, account_uid, secret;
};
using SignSecretToken = std::function<Result<std::string>(const SecretTokenWanted&)>;

// What a Secret of the type should hold; null when it does already. Pure.
Json filled_token_secret(const Json& secret, std::string_view account_uid, std::string_view token,
                         std::string_view ca_pem);
bool needs_token(const Json& secret, std::string_view account_uid);

class TokenSecrets {
 public:
  TokenSecrets(Loop& loop, Client& client, SignSecretToken sign, std::string ca_pem);
  ~TokenSecrets();
  TokenSecrets(const TokenSecrets&) = delete;
  TokenSecrets& operator=(const TokenSecrets&) = delete;

 private:
  void look(const std::string& ns, const std::string& name);
  void look_at_account(const ObjectEvent& event);

  Loop& loop_;
  Client& client_;
  SignSecretToken sign_;
  std::string ca_pem_;
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
