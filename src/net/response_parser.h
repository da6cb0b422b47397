#pragma once
// Bytes from a server into a ClientResponse; the body goes to a sink as it comes.

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "net/client.h"

namespace yard {

class ResponseParser {
 public:
  // `sink` answers false to hear no more. A response to HEAD has no body whatever it says.
  ResponseParser(bool is_head, std::function<bool(std::string_view)> sink);
  ~ResponseParser();

  // False when the response is whole, or the sink has heard enough.
  Result<bool> feed(std::string_view bytes);
  Result<void> finish();  // the connection ended
  bool has_head() const;
  bool is_whole() const;  // to its last byte: the connection may serve the next call
  bool wants_keep_alive() const;
  ClientResponse take_response();  // status and headers

 private:
  struct Engine;
  void begin();

  bool is_head_;
  std::function<bool(std::string_view)> sink_;
  std::string pending_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace yard
