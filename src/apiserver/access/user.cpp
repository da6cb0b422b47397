#include "apiserver/access/user.h"

#include <fmt/format.h>

#include "api/meta/names.h"

namespace yard {
namespace {

constexpr std::string_view kPrefix = "system:serviceaccount:";

}  // namespace

User service_account_user(std::string_view ns, std::string_view name) {
  User out;
  out.name = fmt::format("{}{}:{}", kPrefix, ns, name);
  out.groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns),
                std::string(kAuthenticatedGroup)};
  return out;
}

bool split_service_account(std::string_view user, std::string& ns, std::string& name) {
  if (!user.starts_with(kPrefix)) return false;
  user.remove_prefix(kPrefix.size());
  const size_t colon = user.find(':');
  if (colon == std::string_view::npos) return false;
  ns = user.substr(0, colon);
  name = user.substr(colon + 1);
  return dns1123_label_problems(ns).empty() && dns1123_subdomain_problems(name).empty();
}

}  // namespace yard
