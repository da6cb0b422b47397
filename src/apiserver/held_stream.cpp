#include "apiserver/held_stream.h"

#include "apiserver/access/request_attributes.h"
#include "apiserver/exchange.h"
#include "net/tunnel.h"

namespace yard {

StreamHold::~StreamHold() {
  if (rights_ != nullptr) loop_.post([rights = std::move(rights_)] {});
}

void CuttableResponder::cut() {
  below_->run_on_io([self = shared_from_this()] {
    self->is_cut_ = true;
    if (const auto tunnel = self->tunnel_.lock()) tunnel->close();
  });
}

void CuttableResponder::upgrade(Headers headers, std::function<void(std::shared_ptr<Tunnel>)> use) {
  below_->upgrade(std::move(headers),
                  [weak = weak_from_this(), use = std::move(use)](std::shared_ptr<Tunnel> tunnel) {
                    const auto self = weak.lock();
                    if (self == nullptr || self->is_cut_) return tunnel->close();
                    self->tunnel_ = tunnel;
                    use(std::move(tunnel));
                  });
}

StreamRights ApiServer::stream_rights(const ExchangePtr& exchange) {
  StreamRights out;
  out.ends = exchange->credential_ends;
  const auto token = exchange->token;
  if (token != nullptr) {
    const TokenClaims& claims = token->claims;
    out.bound_uids.push_back(claims.account_uid);
    if (claims.pod) out.bound_uids.push_back(claims.pod->uid);
    if (claims.secret) out.bound_uids.push_back(claims.secret->uid);
  }
  const bool is_admin = exchange->user.is_admin();
  if (is_admin && token == nullptr) return out;
  const AccessAttributes asked =
      request_attributes(exchange->request, exchange->query, &exchange->path);
  out.is_allowed = [this, token, is_admin, user = exchange->user, asked] {
    if (token != nullptr && !check_holder(store_, token->claims, token->text)) return false;
    return is_admin || decide(*access_.rules(), user, asked).allowed;
  };
  return out;
}

// Null: one too many, and the client has been told. Our own command line is never turned away.
std::shared_ptr<StreamHold> ApiServer::take_stream(const ExchangePtr& exchange) {
  if (exchange->request.peer.local_owner) return std::make_shared<StreamHold>(loop_, nullptr);
  RequestBudget::Answer answer = budget_->take_stream(exchange->user.name);
  if (answer.seat != nullptr) return std::make_shared<StreamHold>(loop_, std::move(answer.seat));
  exchange->turn_away(answer.retry_after_seconds);
  return nullptr;
}

// For a session that ends with its user's rights.
std::shared_ptr<Responder> ApiServer::leave_http(const ExchangePtr& exchange,
                                                 const std::shared_ptr<StreamHold>& hold) {
  auto way = std::make_shared<CuttableResponder>(exchange->leave_http(), hold);
  hold->keep(rights_.hold(stream_rights(exchange), [weak = std::weak_ptr(way)] {
    if (const auto session = weak.lock()) session->cut();
  }));
  return way;
}

}  // namespace yard
