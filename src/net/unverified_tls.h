#pragma once
// The client's side of TLS that takes any certificate: probes ask whether a program answers, not
// who it is.

#include "base/tls_stream.h"

namespace yard {

// `host` is named to the other side unless it is an address.
std::unique_ptr<TlsStream> make_unverified_tls(const std::string& host);

}  // namespace yard
