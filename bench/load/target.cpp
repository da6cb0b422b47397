#include "load/target.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <openssl/pem.h>

#include "base/strings.h"
#include "json/yaml.h"

namespace yard::bench {
namespace {

constexpr size_t kReadBuffer = 64 << 10;

Error unusable(const std::string& path, std::string_view why) {
  return error(Reason::BadRequest, fmt::format("{}: {}", path, why));
}

std::string_view first_text(const Json& config, std::string_view list, std::string_view entry,
                            std::string_view key) {
  const Json* entries = find(config, list);
  if (entries == nullptr || !entries->is_array() || entries->get_array().empty()) return {};
  return text_at(entries->get_array()[0], {entry, key});
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

std::unique_ptr<X509, FreeCertificate> certificate_of(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return std::unique_ptr<X509, FreeCertificate>(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::unique_ptr<EVP_PKEY, FreeKey> key_of(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return std::unique_ptr<EVP_PKEY, FreeKey>(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

Result<void> use_credentials(SSL_CTX* tls, const Json& config, const std::string& path) {
  const auto authority =
      base64_decode(first_text(config, "clusters", "cluster", "certificate-authority-data"));
  const auto certificate =
      base64_decode(first_text(config, "users", "user", "client-certificate-data"));
  const auto key = base64_decode(first_text(config, "users", "user", "client-key-data"));
  if (!authority || !certificate || !key) {
    return unusable(path, "needs inline authority, client certificate and key");
  }
  const auto trusted = certificate_of(*authority);
  const auto own = certificate_of(*certificate);
  const auto secret = key_of(*key);
  if (!trusted || !own || !secret) return unusable(path, "a certificate or key is not PEM");
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), trusted.get()) != 1 ||
      SSL_CTX_use_certificate(tls, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(tls, secret.get()) != 1) {
    return unusable(path, "OpenSSL refuses the certificate or key");
  }
  return {};
}

}  // namespace

Result<Target> read_target(const std::string& path) {
  std::ifstream file(path);
  if (!file) return unusable(path, "cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = TRY(parse_yaml(text.str()));
  if (documents.size() != 1) return unusable(path, "is not one document");
  const Json& config = documents[0].parsed.value;

  constexpr std::string_view kScheme = "https://";
  const std::string_view server = first_text(config, "clusters", "cluster", "server");
  const size_t colon = server.rfind(':');
  if (!server.starts_with(kScheme) || colon <= kScheme.size()) {
    return unusable(path, "needs a server like https://127.0.0.1:6443");
  }
  const auto port = parse_int64(server.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return unusable(path, "has no port");

  Target target;
  target.host = server.substr(kScheme.size(), colon - kScheme.size());
  target.port = static_cast<int>(*port);
  target.tls.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* tls = target.tls.get();
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(tls, 1);
  SSL_CTX_set_default_read_buffer_len(tls, kReadBuffer);
  TRY(use_credentials(tls, config, path));
  return target;
}

}  // namespace yard::bench
