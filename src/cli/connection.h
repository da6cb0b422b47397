#pragma once
// How the command line reaches a server. main/ implements it over net/client.h; tests answer from a
// table.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strings.h"

namespace yard {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 0;
  HeaderList headers;
  std::string body;

  // The first of that name, whatever its case; "" when absent.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (equals_ignore_case(key, name)) return value;
    }
    return {};
  }
};

class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  // Any answer of the server is a Reply, also a refusal; an Error means that none came, and its
  // message is the sentence to print.
  virtual Result<Reply> call(const std::string& method, const std::string& target,
                             const HeaderList& headers, const std::string& body) = 0;
  // A GET whose body is handed on as it comes; `chunk` answers false to stop.
  virtual Result<Reply> stream(const std::string& target, const HeaderList& headers,
                               const std::function<bool(std::string_view)>& chunk) = 0;
};

}  // namespace yard
