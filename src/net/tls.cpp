#include "net/tls.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/socket.h>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace yard {

namespace {

using Bio = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, OpensslFree<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;

// OpenSSL visits all sixteen places of its queue to clear it, which is nearly always empty.
void clear_tls_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

// A BIO whose written bytes end up in a std::string of the owner; it never blocks and never fails.
int string_bio_write(BIO* bio, const char* bytes, int size) {
  if (size > 0)
    static_cast<std::string*>(BIO_get_data(bio))->append(bytes, static_cast<size_t>(size));
  return size;
}
long string_bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* string_bio_method() {
  static BIO_METHOD* method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "string");
    BIO_meth_set_write(made, string_bio_write);
    BIO_meth_set_ctrl(made, string_bio_control);
    return made;
  }();
  return method;
}

BIO* make_string_bio(std::string* target) {
  BIO* bio = BIO_new(string_bio_method());
  check(bio != nullptr, "OpenSSL has memory for a BIO");
  BIO_set_data(bio, target);
  BIO_set_init(bio, 1);
  return bio;
}

Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// An encrypted key must fail, not ask the terminal for its passphrase.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Certificate next_certificate(BIO* reader) {
  return Certificate(PEM_read_bio_X509(reader, nullptr, no_passphrase, nullptr));
}

// The library reads no configuration file: a machine's openssl.cnf must not change what we serve.
SslContext new_context(const SSL_METHOD* method) {
  static std::once_flag once;
  std::call_once(once, [] { OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); });
  ERR_clear_error();
  SslContext context(SSL_CTX_new(method));
  check(context != nullptr, "OpenSSL has memory for a context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // HTTP says itself where a message ends, so an end without close_notify is only an end.
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

Error unusable(const char* what) {
  return error(Reason::BadRequest, fmt::format("{}: {}", what, take_tls_error()));
}

Result<void> use_key_pair(SSL_CTX* context, const std::string& certificate_pem,
                          const std::string& key_pem) {
  Bio reader = reader_of(certificate_pem);
  Certificate leaf = next_certificate(reader.get());
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return unusable("the certificate cannot be used");
  }
  while (Certificate issuer = next_certificate(reader.get())) {
    SSL_CTX_add1_chain_cert(context, issuer.get());
  }
  Bio key_reader = reader_of(key_pem);
  PrivateKey key(PEM_read_bio_PrivateKey(key_reader.get(), nullptr, no_passphrase, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return unusable("the private key cannot be used");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return unusable("the private key does not belong to the certificate");
  }
  ERR_clear_error();
  return {};
}

// `announce` also names the authorities to clients, so that they can choose a certificate.
Result<void> trust(SSL_CTX* context, const std::string& ca_pem, bool announce) {
  Bio reader = reader_of(ca_pem);
  int found = 0;
  while (Certificate authority = next_certificate(reader.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    if (announce) SSL_CTX_add_client_CA(context, authority.get());
    ++found;
  }
  if (found == 0) return unusable("the certificate authority cannot be read");
  ERR_clear_error();
  return {};
}

int choose_http11(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                  const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr std::string_view kHttp11 = "http/1.1";
  for (unsigned int at = 0; at < offered_size; at += 1u + offered[at]) {
    if (at + 1u + offered[at] > offered_size) break;
    if (std::string_view(reinterpret_cast<const char*>(offered + at + 1), offered[at]) != kHttp11)
      continue;
    *chosen = offered + at + 1;
    *chosen_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void offer_http11(SSL_CTX* context) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, kProtocols, sizeof kProtocols - 1);
}

std::string utf8_of(const X509_NAME_ENTRY* entry) {
  unsigned char* bytes = nullptr;
  int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry));
  if (size < 0) {
    ERR_clear_error();
    return {};
  }
  std::string text(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

}  // namespace

Result<SslContext> make_server_context(const TlsFiles& files) {
  SslContext context = new_context(TLS_server_method());
  TRY(use_key_pair(context.get(), files.certificate_pem, files.key_pem));
  if (!files.client_ca_pem.empty()) {
    TRY(trust(context.get(), files.client_ca_pem, true));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  // As Go's servers choose: 128 bits are as good for the life of a connection, and a third cheaper.
  SSL_CTX_set_ciphersuites(
      context.get(), "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http11, nullptr);
  // Without a session id context a resumed session that carries a client certificate is refused.
  static constexpr std::string_view kSessionContext = "trainyard";
  SSL_CTX_set_session_id_context(context.get(),
                                 reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                 kSessionContext.size());
  // One ticket is enough to resume; with none, a client's first request waited 40 ms for an ACK.
  SSL_CTX_set_num_tickets(context.get(), 1);
  return context;
}

Result<SslContext> make_client_context(const ClientTarget& target) {
  SslContext context = new_context(TLS_client_method());
  if (target.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else {
    TRY(trust(context.get(), target.ca_pem, false));
  }
  if (!target.certificate_pem.empty()) {
    TRY(use_key_pair(context.get(), target.certificate_pem, target.key_pem));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  offer_http11(context.get());
  return context;
}

Result<SslContext> make_web_context(const std::string& extra_ca_pem, bool verifies) {
  SslContext context = new_context(TLS_client_method());
  SSL_CTX_set_default_verify_paths(context.get());
  ERR_clear_error();  // a machine without a bundle trusts nobody; the handshake says so
  if (!extra_ca_pem.empty()) TRY(trust(context.get(), extra_ca_pem, false));
  SSL_CTX_set_verify(context.get(), verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  offer_http11(context.get());
  return context;
}

std::string take_tls_error() {
  unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : fmt::format("error {}", code);
}

Transport::Transport(int fd, std::string* output, Ssl ssl)
    : fd_(fd), output_(output), ssl_(std::move(ssl)) {
  BIO* from_socket = BIO_new_socket(fd, BIO_NOCLOSE);
  check(from_socket != nullptr, "OpenSSL has memory for a BIO");
  SSL_set_bio(ssl_.get(), from_socket, make_string_bio(output));
}

Io Transport::outcome(int result) {
  int saved_errno = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE: return Io::Done;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return Io::Again;
    case SSL_ERROR_ZERO_RETURN: return Io::Eof;
    case SSL_ERROR_SYSCALL: return saved_errno == 0 ? Io::Eof : Io::Failed;
    default:
      met_plain_http_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      return Io::Failed;
  }
}

Io Transport::handshake() {
  if (!ssl_) return Io::Done;
  clear_tls_errors();
  errno = 0;
  return outcome(SSL_do_handshake(ssl_.get()));
}

Transport::Read Transport::read(std::span<char> buffer) {
  if (ssl_) {
    clear_tls_errors();
    errno = 0;
    size_t size = 0;
    int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &size);
    return result == 1 ? Read{Io::Done, size} : Read{outcome(result), 0};
  }
  ssize_t size = -1;
  do {
    size = ::recv(fd_, buffer.data(), buffer.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size > 0) return {Io::Done, static_cast<size_t>(size)};
  if (size == 0) return {Io::Eof, 0};
  return {errno == EAGAIN || errno == EWOULDBLOCK ? Io::Again : Io::Failed, 0};
}

void Transport::write(std::string_view plaintext) {
  if (!ssl_) {
    output_->append(plaintext);
    return;
  }
  if (plaintext.empty()) return;
  clear_tls_errors();
  size_t written = 0;
  // The output takes everything, so this fails only on a session that has failed before; what reads
  // next meets that failure and closes.
  SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &written);
  clear_tls_errors();
}

void Transport::say_goodbye() {
  if (!ssl_ || !SSL_is_init_finished(ssl_.get())) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

Peer peer_of(SSL* ssl) {
  Peer peer;
  Certificate certificate(SSL_get1_peer_certificate(ssl));
  if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK) return peer;
  tm ends{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &ends) == 1)
    peer.certificate_ends = from_unix_seconds(timegm(&ends));
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName)
      peer.common_name = utf8_of(entry);  // of several the last, as Go reads it
    if (nid == NID_organizationName) peer.organizations.push_back(utf8_of(entry));
  }
  return peer;
}

}  // namespace yard
