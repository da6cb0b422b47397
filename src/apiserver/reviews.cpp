// Kinds that are asked rather than stored: access reviews, who am I, TokenReview; and the tokens of
// ServiceAccounts.

#include "apiserver/access/reviews.h"

#include <fmt/format.h>

#include "api/schema/decode.h"
#include "api/tree.h"
#include "apiserver/change.h"
#include "apiserver/exchange.h"
#include "base/strings.h"

namespace yard {
namespace {

Result<Json> read_review(const HttpRequest& request, const Schema& schema,
                         std::string_view api_version, std::string_view kind) {
  const RequestBody body{std::string(request.header("Content-Type")), request.body};
  DecodedBody decoded = TRY(decode_body(body, kind, false));
  const std::string_view version = text_at(decoded.tree, {"apiVersion"}),
                         name = text_at(decoded.tree, {"kind"});
  if ((!version.empty() && version != api_version) || (!name.empty() && name != kind)) {
    return error(Reason::BadRequest,
                 fmt::format("{}, Kind={} cannot be handled as a {}", version, name, kind));
  }
  auto findings = conform(decoded.tree, schema, std::string(kind));
  if (!findings)
    return error(Reason::BadRequest,
                 fmt::format("{} in version {} cannot be handled as a {}: {}", kind,
                             quoted(api_version), kind, findings.error().message));
  JsonObject& object = decoded.tree.get_object();
  object["kind"] = kind;
  object["apiVersion"] = api_version;
  return std::move(decoded.tree);
}

std::vector<std::string> audiences_in(const Json& review) {
  std::vector<std::string> out;
  for (const Json& audience : list_at(review, {"spec", "audiences"}))
    out.emplace_back(text_of(audience));
  if (out.empty()) out.emplace_back(kTokenIssuer);
  return out;
}

Json refused_token(const Error& why) {
  return JsonObject{{"user", JsonObject()}, {"error", why.message}};
}

// kind, apiVersion and metadata first, as every answer has them.
Json in_order(const Json& review) {
  JsonObject out{{"kind", *find(review, "kind")}, {"apiVersion", *find(review, "apiVersion")}};
  const Json* metadata = find(review, "metadata");
  out["metadata"] = metadata != nullptr && metadata->is_object() ? *metadata : Json(JsonObject());
  for (const char* member : {"spec", "status"}) {
    if (const Json* value = find(review, member)) out[member] = *value;
  }
  return out;
}

}  // namespace

void ApiServer::answer_review(const ExchangePtr& exchange, const Json& review) {
  auto representation = negotiate(exchange->request.header("Accept"), Offer{.transforms = false});
  if (!representation) return exchange->fail(representation.error());
  const Rendering rendering = exchange->rendering(*representation);
  exchange->finish(tree_response(in_order(review), rendering, 201));
}

void ApiServer::review(const ExchangePtr& exchange) {
  exchange->labels.verb = "CREATE";
  const Kind& kind = *exchange->kind;
  auto read = read_review(exchange->request, *kind.schema, kind.api_version(), kind.kind);
  if (!read) return exchange->fail(read.error());
  Json& tree = *read;
  if (kind.kind == "TokenReview") return review_token(exchange, std::move(tree));
  Result<Json> status = Json();
  if (kind.kind == "SelfSubjectReview") {
    status = Json(JsonObject{{"userInfo", user_info(exchange->user)}});
    object_at(tree.get_object(), "metadata")["creationTimestamp"] = rfc3339(loop_.now());
  } else if (kind.kind == "SelfSubjectRulesReview") {
    status = rules_review_status(tree, *access_.rules(), exchange->user);
    tree.get_object()["spec"] = JsonObject();
  } else {
    status =
        access_review_status(kind.kind, exchange->path.ns, tree, *access_.rules(), exchange->user);
  }
  if (!status) return exchange->fail(status.error());
  tree.get_object()["status"] = std::move(*status);
  answer_review(exchange, tree);
}

void ApiServer::review_token(const ExchangePtr& exchange, Json review) {
  std::string token(text_at(review, {"spec", "token"}));
  if (token.empty())
    return exchange->fail(
        error(Reason::BadRequest, "token is required for TokenReview in authentication"));
  const auto finish = [this, exchange](Json& answer, Json status) {
    answer.get_object()["status"] = std::move(status);
    answer_review(exchange, answer);
  };
  if (tokens_ == nullptr)
    return finish(review, refused_token(error(Reason::Unauthorized, "invalid bearer token")));
  auto claims = tokens_->read(token, loop_.now());
  if (!claims) return finish(review, refused_token(claims.error()));
  auto audiences = matching_audiences(*claims, audiences_in(review));
  if (!audiences) {
    return finish(
        review, refused_token(error(Reason::Unauthorized, fmt::format("[invalid bearer token, {}]",
                                                                      audiences.error().message))));
  }
  loop_.post([this, finish, token = std::move(token), claims = std::move(*claims),
              audiences = std::move(*audiences), review = std::move(review)]() mutable {
    auto user = check_holder(store_, claims, token);
    if (!user) return finish(review, refused_token(user.error()));
    JsonArray list;
    for (const std::string& audience : audiences)
      list.emplace_back(audience);
    finish(review, JsonObject{{"authenticated", true},
                              {"user", user_info(*user)},
                              {"audiences", std::move(list)}});
  });
}

void ApiServer::create_token(const ExchangePtr& exchange) {
  exchange->labels.verb = "CREATE";
  const Schema* schema = builtin_schemas().find("authentication.v1.TokenRequest");
  check(schema != nullptr, "the schema of a TokenRequest is built in");
  auto request =
      read_review(exchange->request, *schema, "authentication.k8s.io/v1", "TokenRequest");
  if (!request) return exchange->fail(request.error());
  if (tokens_ == nullptr)
    return exchange->fail(error(Reason::ServiceUnavailable, "this server issues no tokens"));
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = audit_ids_.uuid();
  }
  loop_.post([this, exchange, request = std::move(*request), id] {
    auto answer = answer_token_request(
        store_, *tokens_, {exchange->path.ns, exchange->path.name, loop_.now(), id}, request);
    if (!answer) return exchange->fail(answer.error());
    answer_review(exchange, *answer);
  });
}

}  // namespace yard
