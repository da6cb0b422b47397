#pragma once
// TLS as bytes in and bytes out, without a socket: for whoever speaks it over a descriptor of its
// own and may not see OpenSSL. net/ makes them (net/unverified_tls.h).

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

class TlsStream {
 public:
  virtual ~TlsStream() = default;
  virtual void write(std::string_view plain) = 0;                // goes out after the handshake
  virtual Result<void> receive(std::string_view encrypted) = 0;  // from the other side
  virtual std::string take_output() = 0;                         // to be sent to it
  virtual std::string take_plain() = 0;                          // what it has said
  virtual bool met_plain_http() const = 0;                       // after receive() has failed
};
using TlsMaker = std::function<std::unique_ptr<TlsStream>(const std::string& host)>;

}  // namespace yard
