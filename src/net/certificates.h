#pragma once
// The certificate authority of a state folder: ECDSA P-256, made at first start.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace yard {

struct KeyPair {
  std::string certificate_pem, key_pem;
};

Result<KeyPair> make_ca(const std::string& common_name, Time now);
// A server certificate for these names; addresses become IP SANs.
Result<KeyPair> make_server_certificate(const KeyPair& ca, const std::vector<std::string>& names,
                                        Time now);
// A client certificate: CN is the user, O the groups.
Result<KeyPair> make_client_certificate(const KeyPair& ca, const std::string& user,
                                        const std::vector<std::string>& groups, Time now,
                                        Duration valid);
// What a request for a certificate (PKCS 10, PEM) asks to be.
struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
};
// Refuses one that is broken, or not signed with the key it names.
Result<CertificateRequest> read_certificate_request(const std::string& request_pem);
// A client certificate with the subject and key of the request.
Result<std::string> sign_client_request(const KeyPair& ca, const std::string& request_pem, Time now,
                                        Duration valid);
// Whether the PEM certificate is valid at `now` for at least `ahead` more.
bool is_valid_for(const std::string& certificate_pem, Time now, Duration ahead);
// Whether it names all of these.
bool covers_names(const std::string& certificate_pem, const std::vector<std::string>& names);

}  // namespace yard
