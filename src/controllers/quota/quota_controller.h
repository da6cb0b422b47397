#pragma once
// Keeps status.hard and status.used of ResourceQuotas true. What may be made is judged when it is
// committed (apiserver/commit_checks.h); this only tells. Loop thread.

#include <map>
#include <set>
#include <string>

#include "api/core/quota.h"
#include "controllers/runtime/controller.h"

namespace yard {

inline const Resource kQuotaResource{"v1", "ResourceQuota"};

// The status write, or nothing when it says so already.
Plan plan_quota(const Json& quota, const Amounts& used);

class QuotaController {
 public:
  QuotaController(Loop& loop, Client& client);
  ~QuotaController();
  bool is_idle() const { return controller_.is_idle(); }

 private:
  void hear_quota(const ObjectEvent& event);
  void hear_object(const ObjectEvent& event);
  void count_all(const std::string& ns, QuotaLedger& ledger);
  Plan plan(const ObjectKey& key);

  Client& client_;
  std::map<std::string, QuotaLedger, std::less<>> ledgers_;  // of namespaces with a quota
  Controller controller_;
  Client::Subscription quotas_ = 0, objects_ = 0;  // others are heard only while there is a quota
};

}  // namespace yard
