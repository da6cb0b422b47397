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
// Whether the PEM certificate is valid at `now` for at least `ahead` more.
bool is_valid_for(const std::string& certificate_pem, Time now, Duration ahead);
// Whether it names all of these.
bool covers_names(const std::string& certificate_pem, const std::vector<std::string>& names);

}  // namespace yard
