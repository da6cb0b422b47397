#pragma once
// What a ResourceQuota limits, what an object takes of it, and the words of a refusal
// (kubernetes-core E5). Values and pure functions: the server judges with them when it commits, the
// quota controller tells with them what is used.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/resources.h"
#include "api/object.h"
#include "json/json.h"

namespace yard {

struct Quota {
  struct Scope {
    std::string name, op;  // PriorityClass, In; a plain scope is Exists
    std::vector<std::string> values;
  };
  std::string name;
  Amounts hard;
  std::vector<Scope> scopes;
};
Quota quota_of(const Json& tree);

// What one object takes, under every name that a quota may limit, and what scopes ask about it.
struct QuotaCharge {
  Amounts amounts;
  bool is_pod = false;
  bool has_deadline = false, is_best_effort = false, crosses_namespaces = false;
  std::string priority_class;
};
// `storage` is the resource as error messages name it: pods, jobs.batch. Only pods, services and
// claims are looked into; for others `object` may be null.
bool is_charged_by_content(std::string_view storage);
QuotaCharge charge_of(std::string_view storage, const Json* object);
QuotaCharge charge_of_object(std::string_view storage, const Object& object);
// What of it this quota limits; nothing when its scopes do not cover the object.
Amounts charged_to(const Quota& quota, const QuotaCharge& charge);

// `limits.cpu for: a,b; limits.memory for: a`: a quota on a compute resource has every container
// name it. "" when nothing is missing.
std::string missing_for_quota(const Quota& quota, const Json& pod);

// The quotas of one namespace and what its objects take of them.
class QuotaLedger {
 public:
  struct Account {
    Quota quota;
    Amounts used;
  };
  void set_quota(Quota quota);
  void remove_quota(std::string_view name);
  void set_object(const std::string& id, QuotaCharge charge);  // id: storage/name
  void remove_object(const std::string& id);
  const std::map<std::string, Account, std::less<>>& accounts() const { return accounts_; }
  // `exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`, where the object with
  // this charge would be too much; only what it takes more than before counts.
  std::optional<std::string> excess(const std::string& id, const QuotaCharge& charge) const;

 private:
  std::map<std::string, Account, std::less<>> accounts_;  // by quota name
  std::map<std::string, QuotaCharge, std::less<>> objects_;
};

}  // namespace yard
