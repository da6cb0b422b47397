#pragma once
// What only the loop can judge, since it alone knows every write under way: that a Service's
// address and node ports are nobody else's, and that the quotas of a namespace have room. Both are
// kept as of the newest pending versions, so two writes at once cannot both take the last one. Loop
// thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core/quota.h"
#include "api/kind.h"
#include "store/store.h"

namespace yard {

class CommitChecks {
 public:
  explicit CommitChecks(const Store& store);

  // An address of this Service that another one has.
  struct Taken {
    std::string address;  // 10.96.3.4 or 30080
    Error why;
  };
  std::optional<Taken> taken_address(const Key& key, const Object& next) const;
  // `x is forbidden: exceeded quota: ...`, where there is a quota and no room.
  Result<void> check_quota(const Kind& kind, const Key& key, const Object& next) const;

  // Whether `wrote` wants to hear of writes to this key.
  bool concerns(const Key& key) const;
  // To be called when a write has joined the batch, and again when it is durable or has failed.
  void wrote(const Key& key);

 private:
  struct Addresses {
    std::string cluster_ip;
    std::vector<int64_t> node_ports;
  };
  static Addresses addresses_of(const Object& service);
  void set_service(const Key& key, const Object* service);
  void set_quota(const Key& key, const Object* quota);

  const Store& store_;
  std::map<std::string, Addresses> services_;            // by namespace/name
  std::map<std::string, std::string, std::less<>> ips_;  // cluster address → service
  std::map<int64_t, std::string> node_ports_;
  std::map<std::string, QuotaLedger, std::less<>> ledgers_;  // of namespaces with a quota
};

}  // namespace yard
