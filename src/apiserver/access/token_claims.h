#pragma once
// What a ServiceAccount token says, as Kubernetes writes it into a JWT (api-machinery 8.3). Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/json.h"

namespace yard {

struct BoundObject {
  std::string name, uid;
};

struct TokenClaims {
  std::string issuer, id;
  std::vector<std::string> audiences;
  Time issued{}, not_before{};
  std::optional<Time> expires;  // none: a token that lives in a Secret
  std::string ns, account, account_uid;
  std::optional<BoundObject> pod, secret, node;
};

std::string claims_text(const TokenClaims& claims);
// The claims of a Secret's token, in the form before tokens were bound: no times, no audience.
std::string secret_claims_text(const TokenClaims& claims);
Result<TokenClaims> read_claims(std::string_view payload);

// Whether the times allow the token's use now; the words are those of a TokenReview.
Result<void> check_times(const TokenClaims& claims, Time now);
// Those of the wanted audiences the token is for; none is an error that names both lists.
Result<std::vector<std::string>> matching_audiences(const TokenClaims& claims,
                                                    const std::vector<std::string>& wanted);

}  // namespace yard
