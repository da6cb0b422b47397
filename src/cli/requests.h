#pragma once
// Requests to the API as the commands make them: JSON in and out, refusals as Errors, warnings
// printed.

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/connection.h"
#include "cli/terminal.h"
#include "json/json.h"

namespace yard {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kTableType =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

// `?a=b&c=d`, values escaped; empty values are left out.
struct QueryPart {
  std::string_view name;
  std::string value;
};
std::string query_text(const std::vector<QueryPart>& parts);
std::string percent_encode(std::string_view text);

// The texts of a Warning header's quoted strings.
std::vector<std::string> warning_texts(std::string_view header);

// The Error a reply that is no success stands for; its message begins with `Error from server`.
Error server_error(const Reply& reply);

class Session {
 public:
  Session(ServerConnection& connection, Terminal& terminal)
      : connection_(connection), terminal_(terminal) {}

  struct Answer {
    int status = 0;
    Json body;
  };
  Result<Answer> call(const std::string& method, const std::string& target,
                      const HeaderList& headers, const std::string& body);
  Result<Json> get(const std::string& target, std::string_view accept = kJsonType);
  // Watch events, each with its `type` and `object`; `event` answers false to stop.
  Result<void> watch(const std::string& target, std::string_view accept,
                     const std::function<bool(const Json& event)>& event);

  ServerConnection& connection() { return connection_; }
  Terminal& terminal() { return terminal_; }

 private:
  void print_warnings(const Reply& reply);

  ServerConnection& connection_;
  Terminal& terminal_;
  std::set<std::string> warned_;  // the same warning is said once a command
};

}  // namespace yard
