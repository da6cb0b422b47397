#pragma once
// Where the node agent gets the tokens it mounts into pods: a TokenRequest to whoever keeps the
// ServiceAccounts. Loop thread.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace yard {

struct TokenWanted {
  std::string ns, service_account;
  std::string audience;  // "": the API server itself
  int64_t expiration_seconds = 3600;
  std::string pod, pod_uid;  // the token ends with this pod
  std::string node;          // where it is to run; the pod may not say it yet
};

struct IssuedToken {
  std::string token;
  Time issued, expires;
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // `done` is called on the loop, never before this returns.
  virtual void request_token(const TokenWanted& wanted,
                             std::function<void(Result<IssuedToken>)> done) = 0;
};

}  // namespace yard
