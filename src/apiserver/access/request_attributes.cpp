#include "apiserver/access/request_attributes.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostImpersonated = 256;  // headers of one request

std::string_view verb_of(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "get";
}

// Lists by one name ask for that object: rules with resourceNames reach them.
std::string selected_name(const Query& query) {
  for (const std::string_view part : split(query.get("fieldSelector"), ',')) {
    for (const std::string_view lead : {"metadata.name==", "metadata.name="}) {
      if (part.starts_with(lead)) return std::string(part.substr(lead.size()));
    }
  }
  return {};
}

AccessAttributes impersonate(std::string_view group, std::string_view resource,
                             std::string_view name) {
  AccessAttributes out;
  out.verb = "impersonate";
  out.group = group;
  out.resource = resource;
  out.name = name;
  return out;
}

}  // namespace

AccessAttributes request_attributes(const HttpRequest& request, const Query& query,
                                    const ResourcePath* resource) {
  AccessAttributes out;
  if (resource == nullptr) {
    out.is_resource = false;
    out.verb = lower(request.method);
    out.path = request.path();
    return out;
  }
  out.group = resource->group;
  out.resource = resource->plural;
  out.subresource = resource->subresource;
  out.ns = resource->ns;
  out.name = resource->name;
  // A Namespace lies in itself: who may do a thing inside may do it to the object, as upstream.
  if (out.group.empty() && out.resource == "namespaces" && !out.name.empty()) out.ns = out.name;
  out.verb = verb_of(request.method);
  if (resource->watch_prefix && out.verb == "get") {
    out.verb = "watch";
  } else if (out.name.empty() && out.subresource.empty()) {
    if (out.verb == "get") out.verb = query.flag("watch") ? "watch" : "list";
    if (out.verb == "delete") out.verb = "deletecollection";
    if (out.verb == "list" || out.verb == "watch" || out.verb == "deletecollection")
      out.name = selected_name(query);
  }
  return out;
}

Result<std::optional<Impersonation>> read_impersonation(const HttpRequest& request) {
  constexpr std::string_view kLead = "impersonate-", kExtra = "impersonate-extra-";
  Impersonation out;
  size_t headers = 0;
  for (const auto& [header, value] : request.headers) {
    if (!equals_ignore_case(std::string_view(header).substr(0, kLead.size()), kLead)) continue;
    if (++headers > kMostImpersonated)
      return error(Reason::BadRequest, "too many impersonation headers");
    const std::string name = lower(header);
    if (name == "impersonate-user") {
      out.user.name = value;
    } else if (name == "impersonate-group") {
      out.user.groups.push_back(value);
      out.needed.push_back(impersonate("", "groups", value));
    } else if (name == "impersonate-uid") {
      out.user.uid = value;
      out.needed.push_back(impersonate("authentication.k8s.io", "uids", value));
    } else if (name.starts_with(kExtra)) {
      bool ok = true;
      const std::string key =
          percent_decode(std::string_view(name).substr(kExtra.size()), false, &ok);
      if (!ok || key.empty())
        return error(Reason::BadRequest, "an impersonation header has a broken percent escape");
      out.user.extra[key].push_back(value);
      AccessAttributes needed = impersonate("authentication.k8s.io", "userextras", value);
      needed.subresource = key;
      out.needed.push_back(std::move(needed));
    }
  }
  if (headers == 0) return std::optional<Impersonation>{};
  if (out.user.name.empty())
    return error(Reason::InternalError,
                 "Internal Server Error: the request impersonates without Impersonate-User");
  std::string ns, account;
  AccessAttributes user = impersonate("", "users", out.user.name);
  if (split_service_account(out.user.name, ns, account)) {
    user = impersonate("", "serviceaccounts", account);
    user.ns = ns;
    if (out.user.groups.empty()) out.user.groups = service_account_user(ns, account).groups;
  }
  out.needed.insert(out.needed.begin(), std::move(user));
  const bool anonymous = out.user.name == "system:anonymous";
  const std::string_view everyone = anonymous ? "system:unauthenticated" : kAuthenticatedGroup;
  if (!out.user.is_in(everyone)) out.user.groups.emplace_back(everyone);
  return std::optional<Impersonation>(std::move(out));
}

}  // namespace yard
