// Who asks: a client certificate, the Unix socket's owner or a ServiceAccount's token; then who
// they ask to be.

#include "apiserver/access/request_attributes.h"
#include "apiserver/exchange.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kScheme = "bearer ";

// A client certificate names user and groups; the Unix socket's owner is the one who started the
// server.
std::optional<User> transport_user(const Peer& peer, Time now) {
  if (peer.local_owner) {
    User owner;
    owner.name = "trainyard:owner";
    owner.groups = {std::string(kAdminGroup), std::string(kAuthenticatedGroup)};
    return owner;
  }
  if (peer.common_name.empty()) return std::nullopt;
  // A connection may outlive the certificate it began with.
  if (peer.certificate_ends && *peer.certificate_ends <= now) return std::nullopt;
  User user;
  user.name = peer.common_name;
  user.groups = peer.organizations;
  user.groups.emplace_back(kAuthenticatedGroup);
  return user;
}

std::string_view bearer_token(const HttpRequest& request) {
  const std::string_view value = trim(request.header("Authorization"));
  if (value.size() <= kScheme.size() ||
      !equals_ignore_case(value.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  return trim(value.substr(kScheme.size()));
}

Error unauthorized() {
  return error(Reason::Unauthorized, "Unauthorized");
}

}  // namespace

void ApiServer::authenticate(const ExchangePtr& exchange) {
  if (auto user = transport_user(exchange->request.peer, loop_.now())) {
    exchange->credential_ends = exchange->request.peer.certificate_ends;
    return admit(exchange, std::move(*user));
  }
  const std::string_view token = bearer_token(exchange->request);
  if (token.empty() || tokens_ == nullptr) return exchange->fail(unauthorized());
  authenticate_token(exchange, std::string(token));
}

// The signature is judged here, on the I/O thread; whether the account is still there, on the loop.
void ApiServer::authenticate_token(const ExchangePtr& exchange, std::string token) {
  auto claims = tokens_->read(token, loop_.now());
  if (!claims || !matching_audiences(*claims, {std::string(kTokenIssuer)}))
    return exchange->fail(unauthorized());
  loop_.post([this, exchange, token = std::move(token), claims = std::move(*claims)] {
    auto user = check_holder(store_, claims, token);
    if (!user) return exchange->fail(unauthorized());
    exchange->credential_ends = claims.expires;
    exchange->token = std::make_shared<const HeldToken>(HeldToken{token, claims});
    exchange->responder->run_on_io(
        [this, exchange, user = std::move(*user)] { admit(exchange, user); });
  });
}

void ApiServer::admit(const ExchangePtr& exchange, User user) {
  auto impersonated = read_impersonation(exchange->request);
  if (!impersonated) return exchange->fail(impersonated.error());
  if (*impersonated) {
    for (const AccessAttributes& needed : (*impersonated)->needed) {
      const AccessDecision decision = decide(*access_.rules(), user, needed);
      if (!decision.allowed) return exchange->fail(access_denied(user, needed, decision.reason));
    }
    user = std::move((*impersonated)->user);
  }
  exchange->user = std::move(user);
  route(exchange);
}

}  // namespace yard
