#include "net/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace yard {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "SHA-256 can be computed");
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
        "SHA-256 takes any bytes");
}

std::string Sha256::hex() {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(state_->context, sum, &size) == 1 && size == 32, "SHA-256 ends");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (unsigned i = 0; i < size; ++i) {
    out += kDigits[sum[i] >> 4];
    out += kDigits[sum[i] & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace yard
