#include "apiserver/access/tokens.h"

#include <fmt/format.h>

#include "api/tree.h"

namespace yard {
namespace {

constexpr size_t kMostTokenBytes = 16 * 1024;
constexpr size_t kMostKnown = 2048;  // tokens whose signature is remembered

Error not_valid(std::string_view why = "") {
  if (why.empty()) return error(Reason::Unauthorized, "invalid bearer token");
  return error(Reason::Unauthorized, fmt::format("[invalid bearer token, {}]", why));
}

bool is_there(const Store& store, const char* storage, std::string_view ns,
              const BoundObject& bound) {
  const ObjectPtr object = store.get(Key{storage, std::string(ns), bound.name});
  return object != nullptr && object->uid() == bound.uid;
}

// A Secret's token is good as long as the Secret holds it.
bool is_held_by_secret(const Store& store, const TokenClaims& claims, std::string_view token) {
  const ObjectPtr secret = store.get(Key{"secrets", claims.ns, claims.secret->name});
  if (secret == nullptr || secret->is_being_deleted()) return false;
  return base64_decode(text_at(secret->tree(), {"data", "token"})) == token;
}

}  // namespace

Result<std::string> Tokens::signed_token(std::string_view claims) const {
  const std::string header = to_text(JsonObject{{"alg", "ES256"}, {"kid", key_.id()}});
  std::string text = base64url_encode(header) + "." + base64url_encode(claims);
  const std::string signature = TRY(key_.sign(text));
  return text + "." + base64url_encode(signature);
}

Result<TokenClaims> Tokens::verified(std::string_view token) const {
  if (token.size() > kMostTokenBytes) return not_valid();
  const size_t first = token.find('.'), last = token.rfind('.');
  if (first == std::string_view::npos || first == last || token.find('.', first + 1) != last) {
    return not_valid();
  }
  const auto header = base64url_decode(token.substr(0, first));
  const auto payload = base64url_decode(token.substr(first + 1, last - first - 1));
  const auto signature = base64url_decode(token.substr(last + 1));
  if (!header || !payload || !signature) return not_valid();
  const auto parsed = parse_json(*header, JsonLimits{.max_depth = 4});
  if (!parsed || text_at(parsed->value, {"alg"}) != "ES256" ||
      text_at(parsed->value, {"kid"}) != key_.id() ||
      !key_.has_signed(token.substr(0, last), *signature)) {
    return not_valid();
  }
  auto claims = read_claims(*payload);
  if (!claims) return not_valid();
  return claims;
}

Result<TokenClaims> Tokens::read(std::string_view token, Time now) const {
  std::shared_ptr<const TokenClaims> claims;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(token); found != known_.end()) claims = found->second;
  }
  if (claims == nullptr) {
    TokenClaims fresh = TRY(verified(token));
    claims = std::make_shared<const TokenClaims>(std::move(fresh));
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMostKnown) known_.clear();
    known_.emplace(token, claims);
  }
  if (auto timely = check_times(*claims, now); !timely) return not_valid(timely.error().message);
  return *claims;
}

std::string Tokens::discovery_document(std::string_view server_address) const {
  return to_text(JsonObject{{"issuer", kTokenIssuer},
                            {"jwks_uri", fmt::format("https://{}/openid/v1/jwks", server_address)},
                            {"response_types_supported", JsonArray{"id_token"}},
                            {"subject_types_supported", JsonArray{"public"}},
                            {"id_token_signing_alg_values_supported", JsonArray{"ES256"}}});
}

std::string Tokens::key_set() const {
  return to_text(JsonObject{{"keys", JsonArray{JsonObject{{"use", "sig"},
                                                          {"kty", "EC"},
                                                          {"kid", key_.id()},
                                                          {"crv", "P-256"},
                                                          {"alg", "ES256"},
                                                          {"x", base64url_encode(key_.x())},
                                                          {"y", base64url_encode(key_.y())}}}}});
}

Result<User> check_holder(const Store& store, const TokenClaims& claims, std::string_view token) {
  const bool in_secret = !claims.expires && claims.secret;
  if (!is_there(store, "serviceaccounts", claims.ns, {claims.account, claims.account_uid}) ||
      (in_secret && !is_held_by_secret(store, claims, token)) ||
      (!in_secret && claims.secret && !is_there(store, "secrets", claims.ns, *claims.secret)) ||
      (claims.pod && !is_there(store, "pods", claims.ns, *claims.pod))) {
    return not_valid("service account token has been invalidated");
  }
  User user = service_account_user(claims.ns, claims.account);
  user.uid = claims.account_uid;
  constexpr std::string_view kExtra = "authentication.kubernetes.io/";
  const auto add = [&](std::string_view name, std::string value) {
    user.extra[std::string(kExtra) + std::string(name)] = {std::move(value)};
  };
  if (!claims.id.empty()) add("credential-id", "JTI=" + claims.id);
  if (claims.node) add("node-name", claims.node->name);
  if (claims.node) add("node-uid", claims.node->uid);
  if (claims.pod) add("pod-name", claims.pod->name);
  if (claims.pod) add("pod-uid", claims.pod->uid);
  return user;
}

}  // namespace yard
