#pragma once
// WWW-Authenticate: how a registry wants to be asked (RFC 9110, 11.6). Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

struct Challenge {
  std::string scheme;                         // lower case: basic, bearer
  std::map<std::string, std::string> values;  // names in lower case

  std::string value(const std::string& name) const;
  friend bool operator==(const Challenge&, const Challenge&) = default;
};

// All challenges of one header, in order; what cannot be read is passed over.
std::vector<Challenge> parse_challenges(std::string_view header);

}  // namespace yard
