#include "controllers/access/role_aggregation.h"

#include "api/tree.h"
#include "base/log.h"
#include "controllers/access/default_roles.h"

namespace yard {
namespace {

const Resource kClusterRole{"rbac.authorization.k8s.io/v1", "ClusterRole"};

}  // namespace

RoleAggregation::RoleAggregation(Loop& loop, Client& client) : loop_(loop), client_(client) {
  subscription_ = client_.follow(kClusterRole, [this](const ObjectEvent&) { look_soon(); });
  look_soon();
}

RoleAggregation::~RoleAggregation() {
  *alive_ = false;
  client_.unfollow(subscription_);
}

// Many roles that come at once are looked at once.
void RoleAggregation::look_soon() {
  if (is_posted_) return;
  is_posted_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    is_posted_ = false;
    look();
  });
}

void RoleAggregation::look() {
  std::vector<Json> all;
  for (const ObjectPtr& role : client_.list(kClusterRole))
    all.push_back(role->tree());
  for (const Json& role : all) {
    if (find(role, "aggregationRule") == nullptr) continue;
    JsonArray rules = aggregated_rules(role, all);
    const JsonArray& shown = list_at(role, {"rules"});
    if (equal(Json(rules), Json(shown))) continue;
    Json next = role;
    next.get_object()["rules"] = std::move(rules);
    const std::string name(name_of(role));
    client_.submit({ClientWrite::Verb::Update, kClusterRole, "", name, std::move(next)},
                   [name](const Result<ObjectPtr>& written) {
                     // A conflict or a deletion is an event that leads here again.
                     if (!written && written.error().reason != Reason::Conflict &&
                         written.error().reason != Reason::NotFound)
                       log_warning("the rules of ClusterRole {} were not joined: {}", name,
                                   written.error().message);
                   });
  }
}

}  // namespace yard
