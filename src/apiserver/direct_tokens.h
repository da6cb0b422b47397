#pragma once
// The TokenSource inside the one binary, and the tokens that Secrets hold. Loop thread.

#include "apiserver/access/tokens.h"
#include "base/loop.h"
#include "client/token_source.h"

namespace yard {

class DirectTokens : public TokenSource {
 public:
  DirectTokens(Loop& loop, const Store& store, std::shared_ptr<const Tokens> tokens, uint64_t seed)
      : loop_(loop), store_(store), tokens_(std::move(tokens)), ids_(seed) {}

  void request_token(const TokenWanted& wanted,
                     std::function<void(Result<IssuedToken>)> done) override;
  // A token without an end, good while the Secret holds it.
  Result<std::string> secret_token(const std::string& ns, const std::string& account,
                                   const std::string& account_uid, const std::string& secret) const;

 private:
  Loop& loop_;
  const Store& store_;
  std::shared_ptr<const Tokens> tokens_;
  Random ids_;
};

}  // namespace yard
