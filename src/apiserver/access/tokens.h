#pragma once
// ServiceAccount tokens: made, signed and judged. What of a judgement needs the store is
// check_holder(), on the loop; signature and times are judged on any thread.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "apiserver/access/token_claims.h"
#include "apiserver/access/user.h"
#include "base/strings.h"
#include "net/token_key.h"
#include "store/store.h"

namespace yard {

// Who issues, and the audience of tokens for the API server itself.
inline constexpr std::string_view kTokenIssuer = "https://kubernetes.default.svc.cluster.local";

class Tokens {
 public:
  explicit Tokens(TokenKey key) : key_(std::move(key)) {}

  Result<std::string> signed_token(std::string_view claims) const;
  // Signature, issuer and times. Any thread; a signature once found good is not computed again.
  Result<TokenClaims> read(std::string_view token, Time now) const;

  // The documents other services verify our tokens with.
  std::string discovery_document(std::string_view server_address) const;
  std::string key_set() const;

 private:
  Result<TokenClaims> verified(std::string_view token) const;

  TokenKey key_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const TokenClaims>, StringHash,
                             std::equal_to<>>
      known_;
};

// A token that was shown to us and is good.
struct HeldToken {
  std::string text;
  TokenClaims claims;
};

// The user a token stands for while its ServiceAccount and what it is bound to are there. Loop.
Result<User> check_holder(const Store& store, const TokenClaims& claims, std::string_view token);

// POST serviceaccounts/{name}/token: the TokenRequest with its status. Loop thread.
struct TokenRequestContext {
  std::string ns, account;
  Time now;
  std::string token_id;
  std::string node = {};  // of a pod that is being bound: as its own node says
};
Result<Json> answer_token_request(const Store& store, const Tokens& tokens,
                                  const TokenRequestContext& context, const Json& request);

}  // namespace yard
