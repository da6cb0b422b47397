#include "apiserver/access/token_claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kSecretIssuer = "kubernetes/serviceaccount";
constexpr std::string_view kSubject = "system:serviceaccount:";
// Members of a Secret's token.
constexpr std::string_view kNamespace = "kubernetes.io/serviceaccount/namespace",
                           kSecretName = "kubernetes.io/serviceaccount/secret.name",
                           kAccountName = "kubernetes.io/serviceaccount/service-account.name",
                           kAccountUid = "kubernetes.io/serviceaccount/service-account.uid";

Json bound(const BoundObject& object) {
  return JsonObject{{"name", object.name}, {"uid", object.uid}};
}

std::optional<BoundObject> bound_at(const Json& claims, std::string_view kind) {
  const Json* object = find_path(claims, {"kubernetes.io", kind});
  if (object == nullptr) return std::nullopt;
  return BoundObject{std::string(text_at(*object, {"name"})),
                     std::string(text_at(*object, {"uid"}))};
}

// %q of a Go list: ["a" "b"].
std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(quoted(text));
  return "[" + join(out, " ") + "]";
}

}  // namespace

std::string claims_text(const TokenClaims& claims) {
  JsonArray audiences;
  for (const std::string& audience : claims.audiences)
    audiences.emplace_back(audience);
  JsonObject kubernetes{{"namespace", claims.ns}};
  if (claims.node) kubernetes["node"] = bound(*claims.node);
  if (claims.pod) kubernetes["pod"] = bound(*claims.pod);
  if (claims.secret) kubernetes["secret"] = bound(*claims.secret);
  kubernetes["serviceaccount"] = bound({claims.account, claims.account_uid});
  JsonObject out{{"aud", std::move(audiences)}};
  if (claims.expires) out["exp"] = unix_seconds(*claims.expires);
  out["iat"] = unix_seconds(claims.issued);
  out["iss"] = claims.issuer;
  out["jti"] = claims.id;
  out["kubernetes.io"] = std::move(kubernetes);
  out["nbf"] = unix_seconds(claims.not_before);
  out["sub"] = fmt::format("{}{}:{}", kSubject, claims.ns, claims.account);
  return to_text(out);
}

std::string secret_claims_text(const TokenClaims& claims) {
  return to_text(JsonObject{{"iss", kSecretIssuer},
                            {kNamespace, claims.ns},
                            {kSecretName, claims.secret ? claims.secret->name : ""},
                            {kAccountName, claims.account},
                            {kAccountUid, claims.account_uid},
                            {"sub", fmt::format("{}{}:{}", kSubject, claims.ns, claims.account)}});
}

Result<TokenClaims> read_claims(std::string_view payload) {
  const ParsedJson parsed = TRY(parse_json(payload, JsonLimits{.max_depth = 8}));
  const Json& tree = parsed.value;
  TokenClaims out;
  out.issuer = text_at(tree, {"iss"});
  out.id = text_at(tree, {"jti"});
  if (out.issuer == kSecretIssuer) {
    out.ns = text_at(tree, {kNamespace});
    out.account = text_at(tree, {kAccountName});
    out.account_uid = text_at(tree, {kAccountUid});
    out.secret = BoundObject{std::string(text_at(tree, {kSecretName})), ""};
  } else {
    for (const Json& audience : list_at(tree, {"aud"}))
      out.audiences.emplace_back(text_of(audience));
    if (const std::string_view only = text_at(tree, {"aud"}); !only.empty())
      out.audiences.emplace_back(only);
    if (find(tree, "exp") == nullptr || int_at(tree, {"exp"}) <= 0)
      return error(Reason::Unauthorized, "the token has no end");
    out.expires = from_unix_seconds(std::min<int64_t>(int_at(tree, {"exp"}), 1LL << 33));
    out.issued = from_unix_seconds(std::clamp<int64_t>(int_at(tree, {"iat"}), 0, 1LL << 33));
    out.not_before = from_unix_seconds(std::clamp<int64_t>(int_at(tree, {"nbf"}), 0, 1LL << 33));
    out.ns = text_at(tree, {"kubernetes.io", "namespace"});
    out.account = text_at(tree, {"kubernetes.io", "serviceaccount", "name"});
    out.account_uid = text_at(tree, {"kubernetes.io", "serviceaccount", "uid"});
    out.pod = bound_at(tree, "pod");
    out.secret = bound_at(tree, "secret");
    out.node = bound_at(tree, "node");
  }
  if (text_at(tree, {"sub"}) != fmt::format("{}{}:{}", kSubject, out.ns, out.account) ||
      out.ns.empty() || out.account.empty() || out.account_uid.empty()) {
    return error(Reason::Unauthorized, "the token names no ServiceAccount");
  }
  return out;
}

Result<void> check_times(const TokenClaims& claims, Time now) {
  if (claims.expires && now >= *claims.expires)
    return error(Reason::Unauthorized, "service account token has expired");
  if (now < claims.not_before)
    return error(Reason::Unauthorized, "service account token is not valid yet");
  return {};
}

Result<std::vector<std::string>> matching_audiences(const TokenClaims& claims,
                                                    const std::vector<std::string>& wanted) {
  if (!claims.expires) return wanted;  // a Secret's token is for whoever asks
  std::vector<std::string> out;
  for (const std::string& audience : wanted) {
    if (std::ranges::find(claims.audiences, audience) != claims.audiences.end())
      out.push_back(audience);
  }
  if (!out.empty()) return out;
  return error(Reason::Unauthorized,
               fmt::format("token audiences {} is invalid for the target audiences {}",
                           quoted_list(claims.audiences), quoted_list(wanted)));
}

}  // namespace yard
