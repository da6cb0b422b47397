#include "controllers/quota/quota_controller.h"

#include "api/tree.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

std::string storage_of(const Client::Served& served) {
  return served.group.empty() ? served.plural : served.plural + "." + served.group;
}

std::string ledger_id(const std::string& storage, const Object& object) {
  return storage + "/" + std::string(object.name());
}

}  // namespace

Plan plan_quota(const Json& quota, const Amounts& used) {
  JsonObject shown;
  for (const auto& [name, amount] : used)
    shown[name] = amount.canonical();
  Json next = quota;
  JsonObject& status = section(next, "status");
  status["hard"] = map_at(quota, {"spec", "hard"});
  status["used"] = std::move(shown);
  Plan out;
  if (!same(find(next, "status"), find(quota, "status"))) {
    out.last = ClientWrite{ClientWrite::Verb::UpdateStatus, kQuotaResource,
                           std::string(text_at(quota, {"metadata", "namespace"})),
                           std::string(name_of(quota)), std::move(next)};
  }
  return out;
}

QuotaController::QuotaController(Loop& loop, Client& client)
    : client_(client),
      controller_(loop, client,
                  {.name = "quotas",
                   .plan = [this](const ObjectKey& key) { return plan(key); },
                   .limits = {.longest_retry = 60s}}) {
  quotas_ = client_.follow(kQuotaResource, [this](const ObjectEvent& event) { hear_quota(event); });
  for (const ObjectPtr& quota : client_.list(kQuotaResource))
    hear_quota({ObjectEvent::Type::Added, kQuotaResource, quota, nullptr});
}

QuotaController::~QuotaController() {
  client_.unfollow(quotas_);
  if (objects_ != 0) client_.unfollow(objects_);
}

void QuotaController::hear_quota(const ObjectEvent& event) {
  const std::string ns(event.object->ns()), name(event.object->name());
  const bool is_first = !ledgers_.contains(ns);
  QuotaLedger& ledger = ledgers_[ns];
  if (event.type == ObjectEvent::Type::Deleted) {
    ledger.remove_quota(name);
    if (ledger.accounts().empty()) ledgers_.erase(ns);
  } else {
    if (is_first) count_all(ns, ledger);
    ledger.set_quota(quota_of(event.object->tree()));
    controller_.add({kQuotaResource, ns, name});
  }
  if (!ledgers_.empty() && objects_ == 0) {
    objects_ = client_.follow({}, [this](const ObjectEvent& other) { hear_object(other); });
  } else if (ledgers_.empty() && objects_ != 0) {
    client_.unfollow(objects_);
    objects_ = 0;
  }
}

void QuotaController::count_all(const std::string& ns, QuotaLedger& ledger) {
  for (const Resource& resource : client_.resources(true)) {
    const auto served = client_.served(resource);
    if (!served) continue;
    const std::string storage = storage_of(*served);
    for (const ObjectPtr& object : client_.list(resource, ns))
      ledger.set_object(ledger_id(storage, *object), charge_of_object(storage, *object));
  }
}

void QuotaController::hear_object(const ObjectEvent& event) {
  const auto ledger = ledgers_.find(event.object->ns());
  if (ledger == ledgers_.end()) return;
  const auto served = client_.served(event.resource);
  if (!served) return;
  const std::string storage = storage_of(*served);
  if (event.type == ObjectEvent::Type::Deleted) {
    ledger->second.remove_object(ledger_id(storage, *event.object));
  } else {
    // Only pods, services and claims change what they take while they live.
    if (event.previous != nullptr && !is_charged_by_content(storage)) return;
    ledger->second.set_object(ledger_id(storage, *event.object),
                              charge_of_object(storage, *event.object));
  }
  for (const auto& [name, account] : ledger->second.accounts())
    controller_.add({kQuotaResource, ledger->first, name});
}

Plan QuotaController::plan(const ObjectKey& key) {
  const ObjectPtr quota = client_.get(kQuotaResource, key.ns, key.name);
  const auto ledger = ledgers_.find(key.ns);
  if (quota == nullptr || ledger == ledgers_.end()) return {};
  const auto account = ledger->second.accounts().find(key.name);
  if (account == ledger->second.accounts().end()) return {};
  return plan_quota(quota->tree(), account->second.used);
}

}  // namespace yard
