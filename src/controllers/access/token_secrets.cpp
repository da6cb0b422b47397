#include "controllers/access/token_secrets.h"

#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

const Resource kSecret{"v1", "Secret"}, kServiceAccount{"v1", "ServiceAccount"};
constexpr std::string_view kType = "kubernetes.io/service-account-token";
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name";
constexpr std::string_view kAccountUid = "kubernetes.io/service-account.uid";

// The type is the first of a Secret's selectable fields: others are not parsed.
bool is_token_secret(const Object& secret) {
  return !secret.fields().empty() && secret.fields()[0] == kType;
}

}  // namespace

bool needs_token(const Json& secret, std::string_view account_uid) {
  if (text_at(secret, {"metadata", "annotations", kAccountUid}) != account_uid) return true;
  for (const char* key : {"token", "ca.crt", "namespace"}) {
    if (text_at(secret, {"data", key}).empty()) return true;
  }
  return false;
}

Json filled_token_secret(const Json& secret, std::string_view account_uid, std::string_view token,
                         std::string_view ca_pem) {
  Json out = secret;
  JsonObject& object = out.get_object();
  object_at(object_at(object, "metadata"), "annotations")[kAccountUid] = account_uid;
  JsonObject& data = object_at(object, "data");
  if (text_at(secret, {"metadata", "annotations", kAccountUid}) != account_uid ||
      text_at(secret, {"data", "token"}).empty()) {
    data["token"] = base64_encode(token);
  }
  data["ca.crt"] = base64_encode(ca_pem);
  data["namespace"] = base64_encode(text_at(secret, {"metadata", "namespace"}));
  return out;
}

TokenSecrets::TokenSecrets(Loop& loop, Client& client, SignSecretToken sign, std::string ca_pem)
    : loop_(loop), client_(client), sign_(std::move(sign)), ca_pem_(std::move(ca_pem)) {
  subscriptions_.push_back(client_.follow(kSecret, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Deleted || !is_token_secret(*event.object)) return;
    look(std::string(event.object->ns()), std::string(event.object->name()));
  }));
  subscriptions_.push_back(client_.follow(
      kServiceAccount, [this](const ObjectEvent& event) { look_at_account(event); }));
  for (const ObjectPtr& secret : client_.list(kSecret)) {
    if (is_token_secret(*secret)) look(std::string(secret->ns()), std::string(secret->name()));
  }
}

TokenSecrets::~TokenSecrets() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void TokenSecrets::look_at_account(const ObjectEvent& event) {
  if (event.type == ObjectEvent::Type::Modified) return;
  const std::string ns(event.object->ns());
  for (const ObjectPtr& secret : client_.list(kSecret, ns)) {
    if (is_token_secret(*secret)) look(ns, std::string(secret->name()));
  }
}

void TokenSecrets::look(const std::string& ns, const std::string& name) {
  loop_.post([this, ns, name, alive = alive_] {
    if (!*alive) return;
    const ObjectPtr object = client_.get(kSecret, ns, name);
    if (object == nullptr || object->is_being_deleted()) return;
    const Json secret = object->tree();
    const std::string account(text_at(secret, {"metadata", "annotations", kAccountName}));
    const ObjectPtr owner = client_.get(kServiceAccount, ns, account);
    const std::string_view bound = text_at(secret, {"metadata", "annotations", kAccountUid});
    const auto report = [ns, name](const Result<ObjectPtr>& written) {
      if (written || written.error().reason == Reason::Conflict ||
          written.error().reason == Reason::NotFound)
        return;
      log_warning("Secret {}/{} was not kept: {}", ns, name, written.error().message);
    };
    if (owner == nullptr || (!bound.empty() && bound != owner->uid())) {
      Json precondition = JsonObject{{"preconditions", JsonObject{{"uid", object->uid()}}}};
      client_.submit({ClientWrite::Verb::Delete, kSecret, ns, name, std::move(precondition)},
                     report);
      return;
    }
    if (!needs_token(secret, owner->uid())) return;
    auto token = sign_({ns, account, std::string(owner->uid()), name});
    if (!token)
      return log_warning("Secret {}/{} got no token: {}", ns, name, token.error().message);
    client_.submit({ClientWrite::Verb::Update, kSecret, ns, name,
                    filled_token_secret(secret, owner->uid(), *token, ca_pem_)},
                   report);
  });
}

}  // namespace yard
