#include "apiserver/commit_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/core/service_addresses.h"
#include "api/tree.h"
#include "apiserver/status.h"

namespace yard {
namespace {

constexpr std::string_view kServices = "services", kQuotas = "resourcequotas";
// Places among a Service's selectable fields (api/core/service.cpp).
constexpr size_t kClusterIp = 0, kType = 1;

std::string full_name(const Key& key) {
  return key.ns + "/" + key.name;
}

std::string ledger_id(const Key& key) {
  return key.storage + "/" + key.name;
}

}  // namespace

CommitChecks::CommitChecks(const Store& store) : store_(store) {
  for (const std::string_view storage : {kServices, kQuotas}) {
    for (const ObjectPtr& object : store_.list(storage, {}).objects)
      wrote({std::string(storage), std::string(object->ns()), std::string(object->name())});
  }
}

bool CommitChecks::concerns(const Key& key) const {
  return key.storage == kServices || key.storage == kQuotas ||
         (!ledgers_.empty() && ledgers_.contains(key.ns));
}

void CommitChecks::wrote(const Key& key) {
  const ObjectPtr newest = store_.get_pending(key);
  if (key.storage == kServices) set_service(key, newest.get());
  if (key.storage == kQuotas) set_quota(key, newest.get());
  const auto ledger = ledgers_.find(key.ns);
  if (ledger == ledgers_.end()) return;
  if (newest == nullptr) {
    ledger->second.remove_object(ledger_id(key));
  } else {
    ledger->second.set_object(ledger_id(key), charge_of_object(key.storage, *newest));
  }
}

CommitChecks::Addresses CommitChecks::addresses_of(const Object& service) {
  Addresses out;
  const auto fields = service.fields();
  if (fields.size() <= kType) return out;
  if (fields[kClusterIp] != "None") out.cluster_ip = fields[kClusterIp];
  if (!has_node_ports(fields[kType])) return out;
  const Json tree = service.tree();
  for (const Json& port : list_at(tree, {"spec", "ports"})) {
    if (const int64_t number = int_at(port, {"nodePort"}); number != 0)
      out.node_ports.push_back(number);
  }
  return out;
}

void CommitChecks::set_service(const Key& key, const Object* service) {
  const std::string name = full_name(key);
  if (const auto before = services_.find(name); before != services_.end()) {
    ips_.erase(before->second.cluster_ip);
    for (const int64_t port : before->second.node_ports)
      node_ports_.erase(port);
    services_.erase(before);
  }
  if (service == nullptr) return;
  Addresses addresses = addresses_of(*service);
  if (!addresses.cluster_ip.empty()) ips_[addresses.cluster_ip] = name;
  for (const int64_t port : addresses.node_ports)
    node_ports_[port] = name;
  services_[name] = std::move(addresses);
}

// The first quota of a namespace has everything there counted once.
void CommitChecks::set_quota(const Key& key, const Object* quota) {
  const auto found = ledgers_.find(key.ns);
  if (quota == nullptr) {
    if (found == ledgers_.end()) return;
    found->second.remove_quota(key.name);
    if (found->second.accounts().empty()) ledgers_.erase(found);
    return;
  }
  QuotaLedger& ledger = ledgers_[key.ns];
  if (found == ledgers_.end()) {
    ListRange range;
    range.ns = key.ns;
    for (const std::string& storage : store_.storages()) {
      for (const ObjectPtr& object : store_.list(storage, range).objects) {
        if (object->ns() != key.ns) continue;
        ledger.set_object(storage + "/" + std::string(object->name()),
                          charge_of_object(storage, *object));
      }
    }
  }
  ledger.set_quota(quota_of(quota->tree()));
}

std::optional<CommitChecks::Taken> CommitChecks::taken_address(const Key& key,
                                                               const Object& next) const {
  if (key.storage != kServices) return std::nullopt;
  const std::string name = full_name(key);
  const Addresses wanted = addresses_of(next);
  if (const auto owner = ips_.find(wanted.cluster_ip);
      owner != ips_.end() && owner->second != name) {
    return Taken{wanted.cluster_ip,
                 invalid_object("", "Service", key.name,
                                {invalid(FieldPath("spec.clusterIPs"), JsonArray{wanted.cluster_ip},
                                         fmt::format("failed to allocate IP {}: provided IP is "
                                                     "already allocated",
                                                     wanted.cluster_ip))})};
  }
  if (wanted.node_ports.empty()) return std::nullopt;
  const Json tree = next.tree();
  const JsonArray& ports = list_at(tree, {"spec", "ports"});
  for (size_t i = 0; i < ports.size(); ++i) {
    const int64_t number = int_at(ports[i], {"nodePort"});
    const auto owner = node_ports_.find(number);
    if (owner == node_ports_.end() || owner->second == name) continue;
    return Taken{std::to_string(number),
                 invalid_object("", "Service", key.name,
                                {invalid(FieldPath("spec.ports").index(i).child("nodePort"),
                                         Json(number), "provided port is already allocated")})};
  }
  return std::nullopt;
}

Result<void> CommitChecks::check_quota(const Kind& kind, const Key& key, const Object& next) const {
  const auto ledger = ledgers_.find(key.ns);
  if (key.ns.empty() || ledger == ledgers_.end()) return {};
  const std::string id = ledger_id(key);
  const auto refuse = [&](const std::string& why) { return forbidden_error(kind, key.name, why); };
  QuotaCharge charge;
  if (is_charged_by_content(key.storage)) {
    const Json tree = next.tree();
    charge = charge_of(key.storage, &tree);
    const bool creates = store_.get_pending(key) == nullptr;
    if (charge.is_pod && creates) {
      for (const auto& [name, account] : ledger->second.accounts()) {
        const std::string missing = missing_for_quota(account.quota, tree);
        if (!missing.empty())
          return refuse(fmt::format("failed quota: {}: must specify {}", name, missing));
      }
    }
  } else {
    charge = charge_of(key.storage, nullptr);
  }
  if (const auto why = ledger->second.excess(id, charge)) return refuse(*why);
  return {};
}

}  // namespace yard
