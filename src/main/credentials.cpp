#include "main/credentials.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr Duration kAdminValid = std::chrono::hours(24 * 365 * 5);
constexpr Duration kRenewAhead = std::chrono::hours(24 * 30);

std::optional<KeyPair> stored(const StateFolder& folder, const std::string& name, Time now) {
  auto certificate = folder.read(name + ".crt"), key = folder.read(name + ".key");
  if (!certificate || !key || !is_valid_for(*certificate, now, kRenewAhead)) return std::nullopt;
  return KeyPair{std::move(*certificate), std::move(*key)};
}

Result<KeyPair> keep(const StateFolder& folder, const std::string& name, KeyPair pair) {
  TRY(folder.write(name + ".key", pair.key_pem));
  TRY(folder.write(name + ".crt", pair.certificate_pem));
  return pair;
}

}  // namespace

Result<Credentials> prepare_credentials(const StateFolder& folder, const std::string& address,
                                        Time now) {
  Credentials out;
  std::optional<KeyPair> ca = stored(folder, "ca", now);
  const bool new_ca = !ca.has_value();
  if (new_ca) {
    KeyPair made = TRY(make_ca("trainyard", now));
    ca = TRY(keep(folder, "ca", std::move(made)));
  }
  out.ca = *ca;
  std::vector<std::string> names{"localhost",
                                 "127.0.0.1",
                                 "::1",
                                 "kubernetes",
                                 "kubernetes.default",
                                 "kubernetes.default.svc",
                                 "kubernetes.default.svc.cluster.local",
                                 "10.96.0.1"};
  if (address != "127.0.0.1" && address != "0.0.0.0" && address != "::") names.push_back(address);
  std::optional<KeyPair> server = new_ca ? std::nullopt : stored(folder, "server", now);
  if (!server || !covers_names(server->certificate_pem, names)) {
    KeyPair made = TRY(make_server_certificate(out.ca, names, now));
    server = TRY(keep(folder, "server", std::move(made)));
  }
  out.server = *server;
  std::optional<KeyPair> admin = new_ca ? std::nullopt : stored(folder, "admin", now);
  if (!admin) {
    KeyPair made = TRY(
        make_client_certificate(out.ca, "kubernetes-admin", {"system:masters"}, now, kAdminValid));
    admin = TRY(keep(folder, "admin", std::move(made)));
  }
  out.admin = *admin;
  return out;
}

Result<TokenKey> signing_key(const StateFolder& folder) {
  constexpr std::string_view kFile = "service-accounts.key";
  if (const auto kept = folder.read(kFile)) {
    auto key = TokenKey::read(*kept);
    if (!key)
      return error(key.error().reason,
                   fmt::format("{}: {}", folder.file(kFile), key.error().message));
    return key;
  }
  const std::string pem = TRY(TokenKey::make_pem());
  TRY(folder.write(kFile, pem));
  return TokenKey::read(pem);
}

std::string user_kubeconfig_text(const std::string& ca_pem, const KeyPair& client,
                                 const std::string& user, const std::string& server_url) {
  const std::string context = user + "@trainyard";
  return to_yaml(JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", context},
      {"clusters", JsonArray{JsonObject{{"name", "trainyard"},
                                        {"cluster", JsonObject{{"server", server_url},
                                                               {"certificate-authority-data",
                                                                base64_encode(ca_pem)}}}}}},
      {"users",
       JsonArray{JsonObject{
           {"name", context},
           {"user", JsonObject{{"client-certificate-data", base64_encode(client.certificate_pem)},
                               {"client-key-data", base64_encode(client.key_pem)}}}}}},
      {"contexts", JsonArray{JsonObject{{"name", context},
                                        {"context", JsonObject{{"cluster", "trainyard"},
                                                               {"user", context},
                                                               {"namespace", "default"}}}}}}});
}

std::string kubeconfig_text(const Credentials& credentials, const std::string& server_url) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: trainyard\n"
      "clusters:\n- name: trainyard\n  cluster:\n    server: {}\n    certificate-authority-data: "
      "{}\n"
      "users:\n- name: trainyard-admin\n  user:\n    client-certificate-data: {}\n    "
      "client-key-data: {}\n"
      "contexts:\n- name: trainyard\n  context:\n    cluster: trainyard\n    user: "
      "trainyard-admin\n    namespace: default\n",
      server_url, base64_encode(credentials.ca.certificate_pem),
      base64_encode(credentials.admin.certificate_pem), base64_encode(credentials.admin.key_pem));
}

}  // namespace yard
