#pragma once
// A SHA-256 sum of bytes that come in pieces. Here because OpenSSL may be seen here only.

#include <memory>
#include <string>
#include <string_view>

namespace yard {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  std::string hex();  // 64 digits, of all that was added; the sum is over after this

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace yard
