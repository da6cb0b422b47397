#pragma once
// The server under load, as its kubeconfig names it: address, authority, client certificate.

#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "base/result.h"

namespace yard::bench {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct Target {
  std::string host;
  int port = 0;
  std::unique_ptr<SSL_CTX, FreeTls> tls;
};

// Of the first cluster and the first user of the file; both servers' kubeconfigs have one of each.
Result<Target> read_target(const std::string& kubeconfig_path);

}  // namespace yard::bench
