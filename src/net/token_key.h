#pragma once
// The key that signs ServiceAccount tokens: ECDSA on P-256 with SHA-256, what JWT calls ES256. Any
// thread may use one key at once.

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

class TokenKey {
 public:
  static Result<std::string> make_pem();
  static Result<TokenKey> read(const std::string& pem);

  // 64 bytes, r and s one after the other, as JWS has them.
  Result<std::string> sign(std::string_view text) const;
  bool has_signed(std::string_view text, std::string_view signature) const;

  // The public point, 32 bytes each, and a name that follows from it (JWK's x, y and kid).
  const std::string& x() const { return x_; }
  const std::string& y() const { return y_; }
  const std::string& id() const { return id_; }

 private:
  struct Held;
  std::shared_ptr<const Held> held_;
  std::string x_, y_, id_;
};

}  // namespace yard
