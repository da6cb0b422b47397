#include "api/core/quota.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/core/mirror_pod.h"
#include "api/core/service_addresses.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

const std::string kClassSuffix = ".storageclass.storage.k8s.io/";

// Resources a quota calls by their plain name as well as by count/<resource>.
constexpr std::string_view kPlainCounts[] = {
    "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
    "services"};

// Under both spellings: cpu and requests.cpu are the same; extended resources have one.
void add_pod_amounts(Amounts& out, const Json& spec) {
  for (const auto& [name, amount] : pod_amounts(spec, "requests")) {
    out["requests." + name] = amount;
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage") out[name] = amount;
  }
  for (const auto& [name, amount] : pod_amounts(spec, "limits"))
    out["limits." + name] = amount;
}

bool crosses_namespaces(const Json& spec) {
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    const Json* affinity = find_path(spec, {"affinity", kind});
    if (affinity == nullptr) continue;
    const auto crosses = [](const Json& term) {
      return !list_at(term, {"namespaces"}).empty() || find(term, "namespaceSelector") != nullptr;
    };
    for (const Json& term : list_at(*affinity, {"requiredDuringSchedulingIgnoredDuringExecution"}))
      if (crosses(term)) return true;
    for (const Json& term :
         list_at(*affinity, {"preferredDuringSchedulingIgnoredDuringExecution"})) {
      const Json* inner = find(term, "podAffinityTerm");
      if (inner != nullptr && crosses(*inner)) return true;
    }
  }
  return false;
}

void charge_pod(QuotaCharge& out, const Json& pod) {
  out.is_pod = true;
  const Json* spec = find(pod, "spec");
  if (spec == nullptr) return;
  out.has_deadline = find(*spec, "activeDeadlineSeconds") != nullptr;
  out.is_best_effort = qos_class(*spec) == "BestEffort";
  out.crosses_namespaces = crosses_namespaces(*spec);
  out.priority_class = text_at(*spec, {"priorityClassName"});
  const std::string_view phase = text_at(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return;  // it needs nothing any more
  out.amounts["pods"] = Quantity::of(1);
  add_pod_amounts(out.amounts, *spec);
}

void charge_service(QuotaCharge& out, const Json& service) {
  const std::string_view type = text_at(service, {"spec", "type"});
  const JsonArray& ports = list_at(service, {"spec", "ports"});
  if (type == "LoadBalancer") out.amounts["services.loadbalancers"] = Quantity::of(1);
  if (!has_node_ports(type)) return;
  const bool all = bool_at(service, {"spec", "allocateLoadBalancerNodePorts"}, true);
  const auto counted = std::ranges::count_if(
      ports, [&](const Json& port) { return all || int_at(port, {"nodePort"}) != 0; });
  out.amounts["services.nodeports"] = Quantity::of(counted);
}

void charge_claim(QuotaCharge& out, const Json& claim) {
  const auto asked =
      Quantity::parse(text_at(claim, {"spec", "resources", "requests", "storage"}, "0"));
  const Quantity storage = asked ? *asked : Quantity();
  out.amounts["requests.storage"] = storage;
  const std::string name(text_at(claim, {"spec", "storageClassName"}));
  if (name.empty()) return;
  out.amounts[name + kClassSuffix + "requests.storage"] = storage;
  out.amounts[name + kClassSuffix + "persistentvolumeclaims"] = Quantity::of(1);
}

bool covers(const Quota::Scope& scope, const QuotaCharge& charge) {
  if (scope.name == "Terminating") return charge.has_deadline;
  if (scope.name == "NotTerminating") return !charge.has_deadline;
  if (scope.name == "BestEffort") return charge.is_best_effort;
  if (scope.name == "NotBestEffort") return !charge.is_best_effort;
  if (scope.name == "CrossNamespacePodAffinity") return charge.crosses_namespaces;
  if (scope.name != "PriorityClass") return false;
  const std::string& has = charge.priority_class;
  const bool listed = std::ranges::find(scope.values, has) != scope.values.end();
  if (scope.op == "In") return listed;
  if (scope.op == "NotIn") return !listed;
  return (scope.op == "DoesNotExist") == has.empty();
}

bool is_covered(const Quota& quota, const QuotaCharge& charge) {
  if (quota.scopes.empty()) return true;
  return charge.is_pod && std::ranges::all_of(quota.scopes, [&](const Quota::Scope& scope) {
           return covers(scope, charge);
         });
}

Quantity amount_in(const Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? Quantity() : found->second;
}

enum class Sign { Add, Take };
void book(QuotaLedger::Account& account, const QuotaCharge& charge, Sign sign) {
  for (const auto& [name, amount] : charged_to(account.quota, charge)) {
    Quantity& used = account.used[name];
    used = sign == Sign::Add ? used + amount : used - amount;
  }
}

}  // namespace

Quota quota_of(const Json& tree) {
  Quota out;
  out.name = name_of(tree);
  out.hard = amounts_of(find_path(tree, {"spec", "hard"}));
  for (const Json& scope : list_at(tree, {"spec", "scopes"}))
    out.scopes.push_back({std::string(text_of(scope)), "Exists", {}});
  for (const Json& expression : list_at(tree, {"spec", "scopeSelector", "matchExpressions"})) {
    Quota::Scope scope{std::string(text_at(expression, {"scopeName"})),
                       std::string(text_at(expression, {"operator"})),
                       {}};
    for (const Json& value : list_at(expression, {"values"}))
      scope.values.emplace_back(text_of(value));
    out.scopes.push_back(std::move(scope));
  }
  return out;
}

bool is_charged_by_content(std::string_view storage) {
  return storage == "pods" || storage == "services" || storage == "persistentvolumeclaims";
}

QuotaCharge charge_of(std::string_view storage, const Json* object) {
  QuotaCharge out;
  // It runs whatever a quota says.
  if (storage == "pods" && object != nullptr && is_mirror_pod(*object)) return out;
  out.amounts["count/" + std::string(storage)] = Quantity::of(1);
  if (std::ranges::find(kPlainCounts, storage) != std::end(kPlainCounts))
    out.amounts[std::string(storage)] = Quantity::of(1);
  if (object == nullptr) return out;
  if (storage == "pods") charge_pod(out, *object);
  if (storage == "services") charge_service(out, *object);
  if (storage == "persistentvolumeclaims") charge_claim(out, *object);
  return out;
}

QuotaCharge charge_of_object(std::string_view storage, const Object& object) {
  if (!is_charged_by_content(storage)) return charge_of(storage, nullptr);
  const Json tree = object.tree();
  return charge_of(storage, &tree);
}

Amounts charged_to(const Quota& quota, const QuotaCharge& charge) {
  Amounts out;
  if (!is_covered(quota, charge)) return out;
  for (const auto& [name, amount] : charge.amounts) {
    if (quota.hard.contains(name)) out[name] = amount;
  }
  return out;
}

std::string missing_for_quota(const Quota& quota, const Json& pod) {
  const Json* spec = find(pod, "spec");
  if (spec == nullptr || !is_covered(quota, charge_of("pods", &pod))) return "";
  std::vector<std::string> missing;
  for (const auto& [name, limit] : quota.hard) {
    const bool is_limit = name.starts_with("limits.");
    std::string_view resource = name;
    if (const size_t dot = name.find('.'); dot != std::string::npos)
      resource = std::string_view(name).substr(dot + 1);
    const bool is_compute = name == "cpu" || name == "memory" || name == "requests.cpu" ||
                            name == "requests.memory" || name == "limits.cpu" ||
                            name == "limits.memory";
    if (!is_compute) continue;
    const char* list = is_limit ? "limits" : "requests";
    // Amounts of the pod as a whole speak for all of its containers.
    if (find_path(*spec, {"resources", list, resource}) != nullptr) continue;
    std::vector<std::string> silent;
    for (const char* containers : {"containers", "initContainers"}) {
      for (const Json& container : list_at(*spec, {containers}))
        if (find_path(container, {"resources", list, resource}) == nullptr)
          silent.emplace_back(text_at(container, {"name"}));
    }
    std::ranges::sort(silent);
    if (!silent.empty()) missing.push_back(name + " for: " + join(silent, ","));
  }
  return join(missing, "; ");
}

void QuotaLedger::set_quota(Quota quota) {
  std::string name = quota.name;
  Account& account = accounts_[name];
  account = {std::move(quota), {}};
  for (const auto& [limited, limit] : account.quota.hard)
    account.used[limited] = Quantity();
  for (const auto& [id, charge] : objects_)
    book(account, charge, Sign::Add);
}

void QuotaLedger::remove_quota(std::string_view name) {
  if (const auto found = accounts_.find(name); found != accounts_.end()) accounts_.erase(found);
}

void QuotaLedger::set_object(const std::string& id, QuotaCharge charge) {
  remove_object(id);
  const QuotaCharge& kept = objects_[id] = std::move(charge);
  for (auto& [name, account] : accounts_)
    book(account, kept, Sign::Add);
}

void QuotaLedger::remove_object(const std::string& id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  for (auto& [name, account] : accounts_)
    book(account, found->second, Sign::Take);
  objects_.erase(found);
}

std::optional<std::string> QuotaLedger::excess(const std::string& id,
                                               const QuotaCharge& charge) const {
  const auto before = objects_.find(id);
  for (const auto& [name, account] : accounts_) {
    const Amounts had =
        before == objects_.end() ? Amounts() : charged_to(account.quota, before->second);
    std::vector<std::string> requested, used, limited;
    for (const auto& [resource, amount] : charged_to(account.quota, charge)) {
      const Quantity more = amount - amount_in(had, resource);
      const Quantity so_far = amount_in(account.used, resource);
      const Quantity limit = amount_in(account.quota.hard, resource);
      if (more.is_zero() || more.is_negative() || so_far + more <= limit) continue;
      requested.push_back(resource + "=" + more.canonical());
      used.push_back(resource + "=" + so_far.canonical());
      limited.push_back(resource + "=" + limit.canonical());
    }
    if (!requested.empty()) {
      return fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", name,
                         join(requested, ","), join(used, ","), join(limited, ","));
    }
  }
  return std::nullopt;
}

}  // namespace yard
