#include "apiserver/certificate_requests.h"

#include <algorithm>

#include "api/tree.h"
#include "apiserver/access/request_attributes.h"
#include "apiserver/status.h"
#include "base/strings.h"
#include "net/certificates.h"

namespace yard {
namespace {

constexpr std::string_view kGroup = "certificates.k8s.io";
constexpr std::string_view kOurSigner = "kubernetes.io/kube-apiserver-client";

void write_requester(Json& tree, const User& user) {
  JsonObject& spec = section(tree, "spec");
  spec["username"] = user.name;
  spec.erase("uid");
  if (!user.uid.empty()) spec["uid"] = user.uid;
  JsonArray groups;
  for (const std::string& group : user.groups)
    groups.emplace_back(group);
  spec["groups"] = std::move(groups);
  spec.erase("extra");
  JsonObject extra;
  for (const auto& [key, values] : user.extra) {
    JsonArray list;
    for (const std::string& value : values)
      list.emplace_back(value);
    extra[key] = std::move(list);
  }
  if (!extra.empty()) spec["extra"] = std::move(extra);
}

// As upstream's admission: whoever could approve such a request is no administrator by that.
Result<void> check_subject(const WriteContext& context, const Json& tree) {
  const auto pem = base64_decode(text_at(tree, {"spec", "request"}));
  auto request = read_certificate_request(pem ? *pem : std::string());
  if (!request) {
    return invalid_object(
        context.kind->group, context.kind->kind, name_of(tree),
        {invalid(FieldPath("spec.request"), Json(text_at(tree, {"spec", "request"})),
                 request.error().message)});
  }
  if (text_at(tree, {"spec", "signerName"}) != kOurSigner) return {};
  const auto& groups = request->organizations;
  if (std::ranges::find(groups, kAdminGroup) == groups.end()) return {};
  return forbidden_error(
      *context.kind, std::string(name_of(tree)),
      "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
}

Result<void> check_approval(const WriteContext& context, const AccessRules& rules, const User& user,
                            const ObjectPtr& live) {
  if (user.is_admin() || live == nullptr) return {};
  const Json tree = live->tree();
  const std::string signer(text_at(tree, {"spec", "signerName"}));
  const std::string domain = signer.substr(0, signer.find('/')) + "/*";
  for (const std::string& name : {signer, domain}) {
    AccessAttributes asked;
    asked.verb = "approve";
    asked.group = kGroup;
    asked.resource = "signers";
    asked.name = name;
    if (decide(rules, user, asked).allowed) return {};
  }
  return forbidden_error(
      *context.kind, context.name,
      "user not permitted to approve requests with signerName \"" + signer + "\"");
}

// Through approval only the decision changes.
void keep_certificate(Json& tree, const Json& live) {
  JsonObject& status = section(tree, "status");
  const Json* before = find_path(live, {"status", "certificate"});
  if (before == nullptr) {
    status.erase("certificate");
  } else {
    status["certificate"] = *before;
  }
}

}  // namespace

bool is_certificate_request(const Kind& kind) {
  return kind.group == kGroup && kind.kind == "CertificateSigningRequest";
}

WritePlanFunction certificate_request_plan(WritePlanFunction plan,
                                           std::shared_ptr<const AccessRules> rules, User user,
                                           std::string subresource) {
  return [plan = std::move(plan), rules = std::move(rules), user = std::move(user),
          subresource = std::move(subresource)](const WriteContext& context,
                                                const ObjectPtr& live) -> Result<Change> {
    if (subresource == "approval") TRY(check_approval(context, *rules, user, live));
    Change change = TRY(plan(context, live));
    if (change.type != Change::Type::Store || change.object == nullptr) return change;
    Json tree = change.object->tree();
    if (change.is_create()) {
      TRY(check_subject(context, tree));
      write_requester(tree, user);
    } else if (subresource == "approval" && live != nullptr) {
      keep_certificate(tree, live->tree());
    } else {
      return change;
    }
    change.object = encode_object(*context.kind, tree);
    if (!change.dry_run_tree.is_null()) change.dry_run_tree = std::move(tree);
    return change;
  };
}

}  // namespace yard
