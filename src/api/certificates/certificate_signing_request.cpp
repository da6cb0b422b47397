// certificates.k8s.io/v1. Requests of the signer kubernetes.io/kube-apiserver-client are answered
// by our certificate authority once approved (controllers/access/certificate_signing.h).

#include <algorithm>

#include "api/checks.h"
#include "api/kinds.h"
#include "api/tables.h"
#include "api/tables/cells.h"
#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr std::string_view kOurSigner = "kubernetes.io/kube-apiserver-client";
constexpr int64_t kLeastSeconds = 600;

FieldErrors validate(const Json& object) {
  FieldErrors errors;
  const FieldPath path("spec");
  const auto request = base64_decode(text_at(object, {"spec", "request"}));
  if (!request || request->find("-----BEGIN CERTIFICATE REQUEST-----") == std::string::npos) {
    errors.push_back(invalid(path.child("request"), Json(text_at(object, {"spec", "request"})),
                             "PEM block type must be CERTIFICATE REQUEST"));
  }
  if (list_at(object, {"spec", "usages"}).empty()) errors.push_back(required(path.child("usages")));
  const std::string_view signer = text_at(object, {"spec", "signerName"});
  if (signer.empty()) {
    errors.push_back(required(path.child("signerName")));
  } else if (signer == "kubernetes.io/legacy-unknown") {
    errors.push_back(invalid(path.child("signerName"), Json(signer),
                             "the legacy signerName is not allowed via this API version"));
  } else if (const size_t slash = signer.find('/'); slash == std::string_view::npos || slash == 0 ||
                                                    slash + 1 == signer.size() ||
                                                    signer.find('.') > slash) {
    errors.push_back(invalid(path.child("signerName"), Json(signer),
                             "must be a fully qualified domain and path of the form "
                             "'example.com/signer-name'"));
  }
  if (find_path(object, {"spec", "expirationSeconds"}) != nullptr &&
      int_at(object, {"spec", "expirationSeconds"}) < kLeastSeconds) {
    errors.push_back(invalid(path.child("expirationSeconds"),
                             Json(int_at(object, {"spec", "expirationSeconds"})),
                             "may not specify a duration less than 600 seconds (10 minutes)"));
  }
  return errors;
}

bool has_condition(const Json& object, std::string_view type) {
  return std::ranges::any_of(list_at(object, {"status", "conditions"}),
                             [&](const Json& each) { return text_at(each, {"type"}) == type; });
}

FieldErrors validate_update(const Json& object, const Json& live) {
  FieldErrors errors;
  if (!same(find(object, "spec"), find(live, "spec")))
    errors.push_back(forbidden(FieldPath("spec"), "may not be changed"));
  return errors;
}

// What was decided stays decided.
FieldErrors validate_status_update(const Json& object, const Json& live) {
  FieldErrors errors;
  const FieldPath path("status.conditions");
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    if (has_condition(live, type) && !has_condition(object, type))
      errors.push_back(forbidden(
          path, "updates may not remove a condition of type \"" + std::string(type) + "\""));
  }
  if (has_condition(object, "Approved") && has_condition(object, "Denied"))
    errors.push_back(
        invalid(path, Json("Denied"), "Approved and Denied conditions are mutually exclusive"));
  const std::string_view before = text_at(live, {"status", "certificate"});
  if (!before.empty() && before != text_at(object, {"status", "certificate"}))
    errors.push_back(forbidden(FieldPath("status.certificate"),
                               "updates may not modify existing certificate content"));
  return errors;
}

std::vector<std::string> signer_warnings(const Json& object) {
  if (text_at(object, {"spec", "signerName"}) == kOurSigner) return {};
  return {
      "Trainyard signs only for kubernetes.io/kube-apiserver-client; this request is kept and "
      "waits for a signer of your own"};
}

std::string condition_text(const Json& object) {
  std::string out;
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    if (!has_condition(object, type)) continue;
    out += out.empty() ? type : std::string(",") + type;
  }
  if (out.empty()) out = "Pending";
  if (!text_at(object, {"status", "certificate"}).empty()) out += ",Issued";
  return out;
}

std::string cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.age(created_at(object));
  row.text(text_at(object, {"spec", "signerName"}, "<none>"));
  row.text(text_at(object, {"spec", "username"}));
  const bool bounded = find_path(object, {"spec", "expirationSeconds"}) != nullptr;
  row.text(bounded
               ? human_duration(std::chrono::seconds(int_at(object, {"spec", "expirationSeconds"})))
               : "<none>");
  row.text(condition_text(object));
  return row.finish();
}

Subresource decision(const char* name) {
  Subresource out = status_subresource();
  out.name = name;
  return out;
}

}  // namespace

Kind certificate_signing_request_kind() {
  Kind row = ordinary_kind(
      {"certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"});
  row.namespaced = false;
  row.short_names = {"csr"};
  row.subresources = {decision("approval"), status_subresource()};
  row.selectable_fields = {"spec.signerName"};
  row.field_values = [](const Json& object) {
    return std::vector<std::string>{std::string(text_at(object, {"spec", "signerName"}))};
  };
  row.columns = {name_column(),
                 age_column(),
                 column("SignerName", "Who is asked to sign."),
                 column("Requestor", "Who asks."),
                 column("RequestedDuration", "For how long, where that was said."),
                 column("Condition", "What became of it.")};
  row.cells = cells;
  row.validate = validate;
  row.validate_update = validate_update;
  row.validate_status_update = validate_status_update;
  row.warnings = signer_warnings;
  return row;
}

}  // namespace yard
