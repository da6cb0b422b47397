// POST serviceaccounts/{name}/token.

#include <algorithm>

#include <fmt/format.h>

#include "api/field_errors.h"
#include "api/tree.h"
#include "apiserver/access/tokens.h"
#include "apiserver/status.h"

namespace yard {
namespace {

constexpr int64_t kDefaultSeconds = 3600, kLeastSeconds = 600, kMostSeconds = int64_t{1} << 32;
constexpr size_t kMostAudiences = 64;
constexpr size_t kNodeField = 0,
                 kAccountField = 4;  // of a pod's selectable fields (api/core/pod.cpp)

Error not_found_in(const char* plural, std::string_view name) {
  Error out = error(Reason::NotFound, fmt::format("{} {} not found", plural, quoted(name)));
  out.details.name = name;
  out.details.kind = plural;
  return out;
}

Result<void> check_request(const TokenRequestContext& context, const Json& request) {
  const std::string_view name = text_at(request, {"metadata", "name"}),
                         ns = text_at(request, {"metadata", "namespace"});
  if (!name.empty() && name != context.account) return wrong_name_error(name, context.account);
  if (!ns.empty() && ns != context.ns) {
    return error(
        Reason::BadRequest,
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  const int64_t seconds = int_at(request, {"spec", "expirationSeconds"}, kDefaultSeconds);
  const FieldPath path("spec.expirationSeconds");
  FieldErrors errors;
  if (seconds < kLeastSeconds)
    errors.push_back(
        invalid(path, Json(seconds), "may not specify a duration less than 10 minutes"));
  if (seconds > kMostSeconds)
    errors.push_back(
        invalid(path, Json(seconds), "may not specify a duration larger than 2^32 seconds"));
  if (list_at(request, {"spec", "audiences"}).size() > kMostAudiences)
    errors.push_back(too_many(FieldPath("spec.audiences"),
                              list_at(request, {"spec", "audiences"}).size(), kMostAudiences));
  if (!errors.empty()) return invalid_object("authentication.k8s.io", "TokenRequest", "", errors);
  return {};
}

Result<BoundObject> bound_object(const Store& store, const TokenRequestContext& context,
                                 const Json& reference, const char* storage) {
  const std::string name(text_at(reference, {"name"}));
  const ObjectPtr object = store.get(Key{storage, context.ns, name});
  if (object == nullptr) return not_found_in(storage, name);
  const std::string_view uid = text_at(reference, {"uid"});
  if (!uid.empty() && uid != object->uid()) {
    Error out = error(
        Reason::Conflict,
        fmt::format("Operation cannot be fulfilled on {} {}: the UID in the bound object reference "
                    "({}) does not match the UID in record. The object might have been deleted and "
                    "then recreated",
                    storage, quoted(name), uid));
    out.details.name = name;
    out.details.kind = storage;
    return out;
  }
  return BoundObject{name, std::string(object->uid())};
}

Result<void> bind(TokenClaims& claims, const Store& store, const TokenRequestContext& context,
                  const Json& reference) {
  const std::string_view kind = text_at(reference, {"kind"});
  const std::string_view version = text_at(reference, {"apiVersion"});
  if (kind == "Secret" && version == "v1") {
    claims.secret = TRY(bound_object(store, context, reference, "secrets"));
    return {};
  }
  if (kind != "Pod" || version != "v1") {
    return error(Reason::BadRequest,
                 fmt::format("cannot bind token for serviceaccount {} to type /{}, Kind={}",
                             quoted(context.account), version, kind));
  }
  claims.pod = TRY(bound_object(store, context, reference, "pods"));
  // Every pod that starts asks for a token: what is wanted of it is known without parsing it.
  const ObjectPtr pod = store.get(Key{"pods", context.ns, claims.pod->name});
  if (pod->fields()[kAccountField] != context.account) {
    return error(Reason::BadRequest,
                 fmt::format("cannot bind token for serviceaccount {} to pod running with "
                             "different serviceaccount name.",
                             quoted(context.account)));
  }
  std::string node(pod->fields()[kNodeField]);
  if (node.empty()) node = context.node;
  const ObjectPtr on = node.empty() ? nullptr : store.get(Key{"nodes", "", node});
  if (on != nullptr) claims.node = BoundObject{node, std::string(on->uid())};
  return {};
}

}  // namespace

Result<Json> answer_token_request(const Store& store, const Tokens& tokens,
                                  const TokenRequestContext& context, const Json& request) {
  TRY(check_request(context, request));
  const ObjectPtr account = store.get(Key{"serviceaccounts", context.ns, context.account});
  if (account == nullptr) return not_found_in("serviceaccounts", context.account);
  const int64_t seconds = int_at(request, {"spec", "expirationSeconds"}, kDefaultSeconds);
  TokenClaims claims;
  claims.issuer = kTokenIssuer;
  claims.id = context.token_id;
  claims.issued = claims.not_before = from_unix_seconds(unix_seconds(context.now));
  claims.expires = claims.issued + std::chrono::seconds(seconds);
  claims.ns = context.ns;
  claims.account = context.account;
  claims.account_uid = account->uid();
  for (const Json& audience : list_at(request, {"spec", "audiences"}))
    claims.audiences.emplace_back(text_of(audience));
  if (claims.audiences.empty()) claims.audiences.emplace_back(kTokenIssuer);
  const Json* reference = find_path(request, {"spec", "boundObjectRef"});
  if (reference != nullptr && reference->is_object()) TRY(bind(claims, store, context, *reference));

  const std::string token = TRY(tokens.signed_token(claims_text(claims)));
  JsonArray audiences;
  for (const std::string& audience : claims.audiences)
    audiences.emplace_back(audience);
  return Json(JsonObject{
      {"kind", "TokenRequest"},
      {"apiVersion", "authentication.k8s.io/v1"},
      {"metadata", JsonObject{{"name", context.account},
                              {"namespace", context.ns},
                              {"uid", account->uid()},
                              {"creationTimestamp", rfc3339(context.now)}}},
      {"spec", JsonObject{{"audiences", std::move(audiences)},
                          {"expirationSeconds", seconds},
                          {"boundObjectRef", reference != nullptr ? *reference : Json()}}},
      {"status", JsonObject{{"token", token}, {"expirationTimestamp", rfc3339(*claims.expires)}}}});
}

}  // namespace yard
