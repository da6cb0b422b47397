#include "net/token_key.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/strings.h"
#include "net/tls.h"

namespace yard {
namespace {

using Bio = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpensslFree<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, OpensslFree<ECDSA_SIG_free>>;
using Number = std::unique_ptr<BIGNUM, OpensslFree<BN_free>>;

constexpr int kNumberBytes = 32;  // of P-256

Error openssl_failed(const char* what) {
  return error(Reason::InternalError, fmt::format("cannot {}: {}", what, take_tls_error()));
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// 32 bytes, zeros in front.
bool append_number(std::string& out, const BIGNUM* number) {
  unsigned char bytes[kNumberBytes];
  if (number == nullptr || BN_bn2binpad(number, bytes, kNumberBytes) != kNumberBytes) return false;
  out.append(reinterpret_cast<const char*>(bytes), kNumberBytes);
  return true;
}

Result<std::string> coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* read = nullptr;
  const bool is_read = EVP_PKEY_get_bn_param(key, name, &read) == 1;
  const Number number(read);
  std::string out;
  if (!is_read || !append_number(out, number.get()))
    return openssl_failed("use the signing key: it is no key of the curve P-256");
  return out;
}

}  // namespace

struct TokenKey::Held {
  PrivateKey key;
};

Result<std::string> TokenKey::make_pem() {
  ERR_clear_error();
  const PrivateKey key(EVP_EC_gen("P-256"));
  const Bio text(BIO_new(BIO_s_mem()));
  if (!key || !text ||
      PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("make a signing key");
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

Result<TokenKey> TokenKey::read(const std::string& pem) {
  ERR_clear_error();
  const Bio reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  auto no_passphrase = [](char*, int, int, void*) { return -1; };
  auto held = std::make_shared<Held>();
  held->key.reset(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_passphrase, nullptr));
  if (!held->key) return openssl_failed("read the signing key");
  TokenKey out;
  out.x_ = TRY(coordinate(held->key.get(), OSSL_PKEY_PARAM_EC_PUB_X));
  out.y_ = TRY(coordinate(held->key.get(), OSSL_PKEY_PARAM_EC_PUB_Y));
  const std::string point = out.x_ + out.y_;
  unsigned char digest[EVP_MAX_MD_SIZE];
  size_t size = sizeof digest;
  if (EVP_Q_digest(nullptr, "SHA256", nullptr, point.data(), point.size(), digest, &size) != 1)
    return openssl_failed("name the signing key");
  out.id_ = base64url_encode({reinterpret_cast<const char*>(digest), size});
  out.held_ = std::move(held);
  return out;
}

Result<std::string> TokenKey::sign(std::string_view text) const {
  ERR_clear_error();
  const DigestContext context(EVP_MD_CTX_new());
  unsigned char der[128];
  size_t size = sizeof der;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, held_->key.get()) != 1 ||
      EVP_DigestSign(context.get(), der, &size, bytes_of(text), text.size()) != 1) {
    return openssl_failed("sign a token");
  }
  const unsigned char* at = der;
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  std::string out;
  out.reserve(2 * kNumberBytes);
  if (!signature || !append_number(out, ECDSA_SIG_get0_r(signature.get())) ||
      !append_number(out, ECDSA_SIG_get0_s(signature.get()))) {
    return openssl_failed("sign a token");
  }
  return out;
}

bool TokenKey::has_signed(std::string_view text, std::string_view signature) const {
  if (signature.size() != 2 * kNumberBytes) return false;
  const Signature parts(ECDSA_SIG_new());
  Number r(BN_bin2bn(bytes_of(signature), kNumberBytes, nullptr));
  Number s(BN_bin2bn(bytes_of(signature) + kNumberBytes, kNumberBytes, nullptr));
  if (!parts || !r || !s || ECDSA_SIG_set0(parts.get(), r.get(), s.get()) != 1) return false;
  [[maybe_unused]] const BIGNUM* owned[] = {r.release(), s.release()};  // by `parts` now
  unsigned char der[128];
  unsigned char* at = der;
  const int size = i2d_ECDSA_SIG(parts.get(), nullptr);
  if (size <= 0 || size > static_cast<int>(sizeof der)) return false;
  i2d_ECDSA_SIG(parts.get(), &at);
  const DigestContext context(EVP_MD_CTX_new());
  const bool is_good =
      context &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, held_->key.get()) == 1 &&
      EVP_DigestVerify(context.get(), der, static_cast<size_t>(size), bytes_of(text),
                       text.size()) == 1;
  ERR_clear_error();
  return is_good;
}

}  // namespace yard
