#pragma once
// Who asks.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace yard {

inline constexpr std::string_view kAdminGroup = "system:masters";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";

struct User {
  std::string name;
  std::vector<std::string> groups;
  std::string uid;
  std::map<std::string, std::vector<std::string>> extra;
  bool is_in(std::string_view group) const {
    for (const std::string& each : groups) {
      if (each == group) return true;
    }
    return false;
  }
  bool is_admin() const { return is_in(kAdminGroup); }
};

// system:serviceaccount:<namespace>:<name> and the groups every such user is in.
User service_account_user(std::string_view ns, std::string_view name);
// The two parts of such a name; false when it is none.
bool split_service_account(std::string_view user, std::string& ns, std::string& name);

}  // namespace yard
