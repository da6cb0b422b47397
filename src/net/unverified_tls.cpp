#include "net/unverified_tls.h"

#include <arpa/inet.h>

#include <openssl/err.h>

#include "net/tls.h"

namespace yard {
namespace {

// One for all: it holds no secrets and no sessions.
SSL_CTX* context() {
  static const SslContext kContext = [] {
    SslContext made(SSL_CTX_new(TLS_client_method()));
    check(made != nullptr, "OpenSSL has memory for a context");
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
    return made;
  }();
  return kContext.get();
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

class UnverifiedTls : public TlsStream {
 public:
  explicit UnverifiedTls(const std::string& host) : ssl_(SSL_new(context())) {
    check(ssl_ != nullptr, "OpenSSL has memory for a connection");
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    check(in_ != nullptr && out_ != nullptr, "OpenSSL has memory for a BIO");
    BIO_set_mem_eof_return(in_, -1);  // an empty buffer waits, it is no end
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_connect_state(ssl_.get());
    if (!is_address(host)) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
    SSL_do_handshake(ssl_.get());  // the greeting; its answer goes on
    ERR_clear_error();
  }

  void write(std::string_view plain) override {
    early_ += plain;
    if (SSL_is_init_finished(ssl_.get())) flush();
  }
  Result<void> receive(std::string_view encrypted) override {
    BIO_write(in_, encrypted.data(), static_cast<int>(encrypted.size()));
    first_ += encrypted.substr(0, kHttp.size() - std::min(first_.size(), kHttp.size()));
    if (!SSL_is_init_finished(ssl_.get())) {
      const int done = SSL_do_handshake(ssl_.get());
      if (done != 1)
        return failed(done) ? error(Reason::ServiceUnavailable, take_tls_error()) : Result<void>();
      flush();
    }
    char buffer[16384];
    int count = 0;
    while ((count = SSL_read(ssl_.get(), buffer, sizeof buffer)) > 0)
      plain_.append(buffer, static_cast<size_t>(count));
    if (failed(count)) return error(Reason::ServiceUnavailable, take_tls_error());
    return {};
  }
  std::string take_output() override {
    std::string out;
    char buffer[4096];
    int count = 0;
    while ((count = BIO_read(out_, buffer, sizeof buffer)) > 0)
      out.append(buffer, static_cast<size_t>(count));
    return out;
  }
  std::string take_plain() override { return std::exchange(plain_, {}); }
  bool met_plain_http() const override { return first_ == kHttp; }

 private:
  static constexpr std::string_view kHttp = "HTTP/";

  bool failed(int result) const {
    const int why = SSL_get_error(ssl_.get(), result);
    return why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE &&
           why != SSL_ERROR_ZERO_RETURN && why != SSL_ERROR_NONE;
  }
  void flush() {
    if (early_.empty()) return;
    SSL_write(ssl_.get(), early_.data(), static_cast<int>(early_.size()));
    early_.clear();
  }

  Ssl ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;  // the SSL's
  std::string early_, plain_, first_;
};

}  // namespace

std::unique_ptr<TlsStream> make_unverified_tls(const std::string& host) {
  return std::make_unique<UnverifiedTls>(host);
}

}  // namespace yard
