#include "net/certificates.h"

#include <arpa/inet.h>
#include <memory>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/tls.h"

namespace yard {

namespace {

using Bio = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, OpensslFree<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;

constexpr Duration kBackdate = std::chrono::hours(1);  // clocks of clients may be behind
// Whoever asks for an hour gets little more, as upstream's signer has it.
constexpr Duration kRequestBackdate = std::chrono::minutes(5);
constexpr Duration kCaLifetime = std::chrono::hours(24 * 3652);
constexpr Duration kServerLifetime = std::chrono::hours(24 * 397);

Error openssl_failed(const char* what) {
  return error(Reason::InternalError, fmt::format("cannot {}: {}", what, take_tls_error()));
}

struct Issuer {
  Certificate certificate;
  PrivateKey key;
};

Certificate read_certificate(const std::string& pem) {
  Bio reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
}

Result<Issuer> read_issuer(const KeyPair& ca) {
  Issuer issuer;
  issuer.certificate = read_certificate(ca.certificate_pem);
  Bio reader(BIO_new_mem_buf(ca.key_pem.data(), static_cast<int>(ca.key_pem.size())));
  auto no_passphrase = [](char*, int, int, void*) { return -1; };
  issuer.key.reset(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_passphrase, nullptr));
  if (!issuer.certificate || !issuer.key) return openssl_failed("read the certificate authority");
  if (X509_check_private_key(issuer.certificate.get(), issuer.key.get()) != 1) {
    return openssl_failed("use the certificate authority: its key is not its own");
  }
  return issuer;
}

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  long size = BIO_get_mem_data(memory, &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

Result<KeyPair> to_pem(X509* certificate, EVP_PKEY* key) {
  Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("write a certificate");
  }
  return KeyPair{text_of(certificate_text.get()), text_of(key_text.get())};
}

bool set_random_serial(X509* certificate) {
  std::unique_ptr<BIGNUM, OpensslFree<BN_free>> serial(BN_new());
  // 127 bits with the top one set: positive, never zero, 16 bytes.
  return serial && BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

// `text` is one of our own constants: names from outside never pass through OpenSSL's little
// language.
bool add_extension(X509* certificate, X509* issuer, int nid, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, text));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string address_bytes(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, name.c_str(), bytes) == 1) return {reinterpret_cast<char*>(bytes), 4};
  if (inet_pton(AF_INET6, name.c_str(), bytes) == 1) return {reinterpret_cast<char*>(bytes), 16};
  return {};
}

bool add_alternative_names(X509* certificate, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  struct FreeNames {
    void operator()(GENERAL_NAMES* list) const { GENERAL_NAMES_free(list); }
  };
  std::unique_ptr<GENERAL_NAMES, FreeNames> list(sk_GENERAL_NAME_new_null());
  for (const std::string& name : names) {
    std::string address = address_bytes(name);
    const std::string& value = address.empty() ? name : address;
    ASN1_STRING* text = address.empty() ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
    GENERAL_NAME* general = GENERAL_NAME_new();
    if (!text || !general ||
        ASN1_STRING_set(text, value.data(), static_cast<int>(value.size())) != 1) {
      return false;
    }
    GENERAL_NAME_set0_value(general, address.empty() ? GEN_DNS : GEN_IPADD, text);
    if (sk_GENERAL_NAME_push(list.get(), general) == 0) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) ==
         1;
}

struct Wanted {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> alternative_names;
  bool is_authority = false;
  const char* extended_usage = nullptr;
  Time now;
  Duration valid{};
  Duration backdate = kBackdate;
};

bool set_times(X509* certificate, const Wanted& wanted) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       unix_seconds(wanted.now - wanted.backdate)) &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), unix_seconds(wanted.now + wanted.valid));
}

bool set_subject(X509* certificate, const Wanted& wanted) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (const std::string& organization : wanted.organizations) {
    if (!add_name(subject, "O", organization)) return false;
  }
  return add_name(subject, "CN", wanted.common_name);
}

bool set_extensions(X509* certificate, X509* issuer, const Wanted& wanted) {
  const char* usage = wanted.is_authority ? "critical,digitalSignature,keyCertSign,cRLSign"
                                          : "critical,digitalSignature";
  const char* constraints = wanted.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE";
  return add_extension(certificate, issuer, NID_basic_constraints, constraints) &&
         add_extension(certificate, issuer, NID_key_usage, usage) &&
         (!wanted.extended_usage ||
          add_extension(certificate, issuer, NID_ext_key_usage, wanted.extended_usage)) &&
         add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
         add_alternative_names(certificate, wanted.alternative_names);
}

// Signed by `issuer`, or by itself when there is none.
Result<KeyPair> issue(const Wanted& wanted, const Issuer* issuer) {
  ERR_clear_error();
  PrivateKey key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  if (!key || !certificate) return openssl_failed("make a key");
  X509* signer = issuer ? issuer->certificate.get() : certificate.get();
  EVP_PKEY* signing_key = issuer ? issuer->key.get() : key.get();
  bool made = X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
              set_random_serial(certificate.get()) && set_times(certificate.get(), wanted) &&
              set_subject(certificate.get(), wanted) &&
              X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1 &&
              X509_set_pubkey(certificate.get(), key.get()) == 1 &&
              set_extensions(certificate.get(), signer, wanted) &&
              X509_sign(certificate.get(), signing_key, EVP_sha256()) > 0;
  if (!made) return openssl_failed("make a certificate");
  return to_pem(certificate.get(), key.get());
}

}  // namespace

Result<KeyPair> make_ca(const std::string& common_name, Time now) {
  Wanted wanted;
  wanted.common_name = common_name;
  wanted.is_authority = true;
  wanted.now = now;
  wanted.valid = kCaLifetime;
  return issue(wanted, nullptr);
}

Result<KeyPair> make_server_certificate(const KeyPair& ca, const std::vector<std::string>& names,
                                        Time now) {
  Issuer issuer = TRY(read_issuer(ca));
  Wanted wanted;
  wanted.common_name = "trainyard";
  wanted.alternative_names = names;
  wanted.extended_usage = "serverAuth";
  wanted.now = now;
  wanted.valid = kServerLifetime;
  return issue(wanted, &issuer);
}

Result<KeyPair> make_client_certificate(const KeyPair& ca, const std::string& user,
                                        const std::vector<std::string>& groups, Time now,
                                        Duration valid) {
  Issuer issuer = TRY(read_issuer(ca));
  Wanted wanted;
  wanted.common_name = user;
  wanted.organizations = groups;
  wanted.extended_usage = "clientAuth";
  wanted.now = now;
  wanted.valid = valid;
  return issue(wanted, &issuer);
}

namespace {

using Request = std::unique_ptr<X509_REQ, OpensslFree<X509_REQ_free>>;

Result<Request> open_request(const std::string& request_pem) {
  ERR_clear_error();
  Bio text(BIO_new_mem_buf(request_pem.data(), static_cast<int>(request_pem.size())));
  Request request(PEM_read_bio_X509_REQ(text.get(), nullptr, nullptr, nullptr));
  EVP_PKEY* key = request ? X509_REQ_get0_pubkey(request.get()) : nullptr;
  if (!key || X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return error(Reason::BadRequest,
                 "the certificate request cannot be read, or its signature is wrong");
  }
  return request;
}

std::vector<std::string> entries_of(const X509_NAME* name, int nid) {
  std::vector<std::string> out;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    if (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry)) != nid) continue;
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    out.emplace_back(reinterpret_cast<char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
  return out;
}

}  // namespace

Result<CertificateRequest> read_certificate_request(const std::string& request_pem) {
  const Request request = TRY(open_request(request_pem));
  const X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  CertificateRequest out;
  for (std::string& name : entries_of(subject, NID_commonName))
    out.common_name = std::move(name);
  out.organizations = entries_of(subject, NID_organizationName);
  return out;
}

Result<std::string> sign_client_request(const KeyPair& ca, const std::string& request_pem, Time now,
                                        Duration valid) {
  const Request request = TRY(open_request(request_pem));
  Issuer issuer = TRY(read_issuer(ca));
  Wanted wanted;
  wanted.extended_usage = "clientAuth";
  wanted.now = now;
  wanted.valid = valid;
  wanted.backdate = kRequestBackdate;
  Certificate certificate(X509_new());
  if (!certificate) return openssl_failed("make a certificate");
  X509* signer = issuer.certificate.get();
  const bool made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      set_random_serial(certificate.get()) && set_times(certificate.get(), wanted) &&
      X509_set_subject_name(certificate.get(), X509_REQ_get_subject_name(request.get())) == 1 &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1 &&
      X509_set_pubkey(certificate.get(), X509_REQ_get0_pubkey(request.get())) == 1 &&
      set_extensions(certificate.get(), signer, wanted) &&
      X509_sign(certificate.get(), issuer.key.get(), EVP_sha256()) > 0;
  Bio text(BIO_new(BIO_s_mem()));
  if (!made || PEM_write_bio_X509(text.get(), certificate.get()) != 1)
    return openssl_failed("sign a certificate");
  return text_of(text.get());
}

bool is_valid_for(const std::string& certificate_pem, Time now, Duration ahead) {
  Certificate certificate = read_certificate(certificate_pem);
  ERR_clear_error();
  if (!certificate) return false;
  time_t begin = unix_seconds(now), end = unix_seconds(now + ahead);
  return X509_cmp_time(X509_get0_notBefore(certificate.get()), &begin) < 0 &&
         X509_cmp_time(X509_get0_notAfter(certificate.get()), &end) > 0;
}

bool covers_names(const std::string& certificate_pem, const std::vector<std::string>& names) {
  Certificate certificate = read_certificate(certificate_pem);
  ERR_clear_error();
  if (!certificate) return false;
  for (const std::string& name : names) {
    bool covered =
        address_bytes(name).empty()
            ? X509_check_host(certificate.get(), name.data(), name.size(), 0, nullptr) == 1
            : X509_check_ip_asc(certificate.get(), name.c_str(), 0) == 1;
    if (!covered) return false;
  }
  return true;
}

}  // namespace yard
