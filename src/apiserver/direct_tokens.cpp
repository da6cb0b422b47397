#include "apiserver/direct_tokens.h"

namespace yard {
namespace {

Json token_request(const TokenWanted& wanted) {
  JsonObject spec{{"expirationSeconds", wanted.expiration_seconds}};
  if (!wanted.audience.empty()) spec["audiences"] = JsonArray{wanted.audience};
  if (!wanted.pod.empty()) {
    spec["boundObjectRef"] = JsonObject{
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", wanted.pod}, {"uid", wanted.pod_uid}};
  }
  return JsonObject{{"spec", std::move(spec)}};
}

Result<IssuedToken> issued(const Result<Json>& answer, Time now) {
  if (!answer) return answer.error();
  const auto expires = parse_rfc3339(text_at(*answer, {"status", "expirationTimestamp"}));
  return IssuedToken{std::string(text_at(*answer, {"status", "token"})), now,
                     expires.value_or(now)};
}

}  // namespace

void DirectTokens::request_token(const TokenWanted& wanted,
                                 std::function<void(Result<IssuedToken>)> done) {
  auto answer = issued(answer_token_request(store_, *tokens_,
                                            {wanted.ns, wanted.service_account, loop_.now(),
                                             ids_.uuid(), wanted.node},
                                            token_request(wanted)),
                       loop_.now());
  loop_.post(
      [done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
}

Result<std::string> DirectTokens::secret_token(const std::string& ns, const std::string& account,
                                               const std::string& account_uid,
                                               const std::string& secret) const {
  TokenClaims claims;
  claims.ns = ns;
  claims.account = account;
  claims.account_uid = account_uid;
  claims.secret = BoundObject{secret, ""};
  return tokens_->signed_token(secret_claims_text(claims));
}

}  // namespace yard
