#pragma once
// The certificates of a state folder and the kubeconfig that carries the administrator's.

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "main/state_folder.h"
#include "net/certificates.h"
#include "net/server.h"
#include "net/token_key.h"

namespace yard {

struct Credentials {
  KeyPair ca, server, admin;
};

// Makes what is missing or about to end; keeps the rest, so kubeconfigs handed out stay good over
// restarts.
Result<Credentials> prepare_credentials(const StateFolder& folder, const std::string& address,
                                        Time now);

// The key that signs ServiceAccount tokens: made at the first start and kept, so that tokens stay
// good over restarts.
Result<TokenKey> signing_key(const StateFolder& folder);

// A kubeconfig of its own for a user: cluster trainyard, context NAME@trainyard.
std::string user_kubeconfig_text(const std::string& ca_pem, const KeyPair& client,
                                 const std::string& user, const std::string& server_url);
std::string kubeconfig_text(const Credentials& credentials, const std::string& server_url);

}  // namespace yard
