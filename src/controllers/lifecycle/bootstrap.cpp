#include "controllers/lifecycle/bootstrap.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "api/training/training_kind.h"
#include "base/log.h"
#include "controllers/access/default_roles.h"
#include "controllers/storage/plan_storage.h"

namespace yard {
namespace {

constexpr const char* kNamespaces[] = {"default", "kube-system", "kube-public", "kube-node-lease",
                                       "kubeflow"};
constexpr const char* kServiceAddress = "10.96.0.1";
// Clients that wait for a deletion look by name, and must find nothing once.
constexpr Duration kAway = std::chrono::seconds(1);
constexpr const char* kRootCa = "kube-root-ca.crt";
constexpr const char* kDefaultAccount = "default";

const Resource kNamespace{"v1", "Namespace"};
const Resource kConfigMap{"v1", "ConfigMap"};
const Resource kServiceAccount{"v1", "ServiceAccount"};
const Resource kService{"v1", "Service"};
const Resource kEndpoints{"v1", "Endpoints"};
const Resource kEndpointSlice{"discovery.k8s.io/v1", "EndpointSlice"};
const Resource kCustomDefinition{"apiextensions.k8s.io/v1", "CustomResourceDefinition"};
const Resource kStorageClass{"storage.k8s.io/v1", "StorageClass"};
const Resource kPriorityClass{"scheduling.k8s.io/v1", "PriorityClass"};
constexpr const char* kDefaultStorageClass = "trainyard-local";

Json named(const Resource& resource, const std::string& ns, const std::string& name) {
  JsonObject metadata{{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return JsonObject{{"apiVersion", resource.api_version},
                    {"kind", resource.kind},
                    {"metadata", std::move(metadata)}};
}

ClientWrite create(const Resource& resource, const std::string& ns, Json object) {
  std::string name(text_at(object, {"metadata", "name"}));
  return ClientWrite{ClientWrite::Verb::Create, resource, ns, std::move(name), std::move(object)};
}

ClientWrite service_account(const std::string& ns) {
  return create(kServiceAccount, ns, named(kServiceAccount, ns, kDefaultAccount));
}

ClientWrite root_ca(const std::string& ns, const std::string& ca_pem) {
  Json object = named(kConfigMap, ns, kRootCa);
  object.get_object()["metadata"].get_object()["annotations"] = JsonObject{
      {"kubernetes.io/description",
       "The certificate authority that clients in this namespace verify the API server with."}};
  object.get_object()["data"] = JsonObject{{"ca.crt", ca_pem}};
  return create(kConfigMap, ns, std::move(object));
}

// What puts the certificate back where somebody wrote something else; nothing when it is there.
std::optional<ClientWrite> mended_root_ca(const Object& live, const std::string& ca_pem) {
  const Json data = JsonObject{{"ca.crt", ca_pem}};
  Json tree = live.tree();
  if (const Json* found = find_path(tree, {"data"}); found != nullptr && *found == data)
    return std::nullopt;
  tree.get_object()["data"] = data;
  return ClientWrite{ClientWrite::Verb::Update, kConfigMap, std::string(live.ns()), kRootCa,
                     std::move(tree)};
}

ClientWrite kubernetes_service(int port) {
  Json object = named(kService, "default", "kubernetes");
  object.get_object()["metadata"].get_object()["labels"] =
      JsonObject{{"component", "apiserver"}, {"provider", "kubernetes"}};
  object.get_object()["spec"] = JsonObject{
      {"type", "ClusterIP"},
      {"clusterIP", kServiceAddress},
      {"clusterIPs", JsonArray{kServiceAddress}},
      {"ports", JsonArray{JsonObject{
                    {"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", port}}}}};
  return create(kService, "default", std::move(object));
}

struct ServerPlace {
  std::string ip;
  int port;
};

ServerPlace server_place(const ClusterIdentity& identity) {
  if (identity.address.empty()) return {kServiceAddress, 443};
  return {identity.address, identity.port};
}

// The endpoints of that Service are the server's own to write, as upstream; nobody mirrors them.
Json kubernetes_endpoints(const ClusterIdentity& identity) {
  const ServerPlace place = server_place(identity);
  Json object = named(kEndpoints, "default", "kubernetes");
  object.get_object()["metadata"].get_object()["labels"] =
      JsonObject{{"endpointslice.kubernetes.io/skip-mirror", "true"}};
  object.get_object()["subsets"] = JsonArray{JsonObject{
      {"addresses", JsonArray{JsonObject{{"ip", place.ip}}}},
      {"ports",
       JsonArray{JsonObject{{"name", "https"}, {"port", place.port}, {"protocol", "TCP"}}}}}};
  return object;
}

Json kubernetes_slice(const ClusterIdentity& identity) {
  const ServerPlace place = server_place(identity);
  Json object = named(kEndpointSlice, "default", "kubernetes");
  object.get_object()["metadata"].get_object()["labels"] =
      JsonObject{{"kubernetes.io/service-name", "kubernetes"}};
  object.get_object()["addressType"] = place.ip.find(':') == std::string::npos ? "IPv4" : "IPv6";
  object.get_object()["endpoints"] = JsonArray{
      JsonObject{{"addresses", JsonArray{place.ip}}, {"conditions", JsonObject{{"ready", true}}}}};
  object.get_object()["ports"] =
      JsonArray{JsonObject{{"name", "https"}, {"port", place.port}, {"protocol", "TCP"}}};
  return object;
}

// Made, or given the place the server has this time.
void add_placed(const Client& client, const Resource& resource, Json wanted,
                std::vector<ClientWrite>& writes) {
  const ObjectPtr live = client.get(resource, "default", "kubernetes");
  if (live == nullptr) {
    writes.push_back(create(resource, "default", std::move(wanted)));
    return;
  }
  Json next = live->tree();
  bool differs = false;
  for (const char* part : {"subsets", "endpoints", "ports"}) {
    const Json* value = wanted.get_object().if_contains(part);
    if (value == nullptr) continue;
    const Json* has = find(next, part);
    if (has != nullptr && *has == *value) continue;
    next.get_object()[part] = *value;
    differs = true;
  }
  if (differs)
    writes.push_back(
        {ClientWrite::Verb::Update, resource, "default", "kubernetes", std::move(next)});
}

// Claims that name no class get a folder of this machine (controllers/storage/).
ClientWrite default_storage_class() {
  Json object = named(kStorageClass, "", kDefaultStorageClass);
  object.get_object()["metadata"].get_object()["annotations"] =
      JsonObject{{"storageclass.kubernetes.io/is-default-class", "true"}};
  object.get_object()["provisioner"] = kLocalProvisioner;
  object.get_object()["reclaimPolicy"] = "Delete";
  object.get_object()["volumeBindingMode"] = "Immediate";
  return create(kStorageClass, "", std::move(object));
}

// What manifests of cluster services ask for.
ClientWrite system_priority_class(const char* name, int64_t value, const char* description) {
  Json object = named(kPriorityClass, "", name);
  object.get_object()["value"] = value;
  object.get_object()["description"] = description;
  return create(kPriorityClass, "", std::move(object));
}

void add_system_priority_classes(const Client& client, std::vector<ClientWrite>& writes) {
  if (client.get(kPriorityClass, "", "system-node-critical") == nullptr)
    writes.push_back(system_priority_class("system-node-critical", 2'000'001'000,
                                           "For pods that their node cannot do without."));
  if (client.get(kPriorityClass, "", "system-cluster-critical") == nullptr)
    writes.push_back(system_priority_class("system-cluster-critical", 2'000'000'000,
                                           "For pods that the cluster cannot do without."));
}

// Default roles and bindings: made, or given what an older version did not have.
void add_default_access(const Client& client, std::vector<ClientWrite>& writes) {
  for (Json& wanted : default_access_objects()) {
    const Resource resource{std::string(text_at(wanted, {"apiVersion"})),
                            std::string(text_at(wanted, {"kind"}))};
    const std::string name(text_at(wanted, {"metadata", "name"}));
    const ObjectPtr live = client.get(resource, "", name);
    if (live == nullptr) {
      writes.push_back(create(resource, "", std::move(wanted)));
    } else if (Json next = reconciled_access_object(wanted, live->tree()); !next.is_null()) {
      writes.push_back({ClientWrite::Verb::Update, resource, "", name, std::move(next)});
    }
  }
}

// Runs writes one batch after another: what lies inside a namespace needs it to be there.
struct Batches {
  Client& client;
  std::vector<std::vector<ClientWrite>> waiting;
  std::function<void(Result<void>)> done;
  size_t next = 0;
  size_t left = 0;
  Result<void> outcome;
};

void run_next_batch(const std::shared_ptr<Batches>& batches) {
  if (batches->next == batches->waiting.size()) return batches->done(batches->outcome);
  std::vector<ClientWrite>& batch = batches->waiting[batches->next++];
  if (batch.empty()) return run_next_batch(batches);
  batches->left = batch.size();
  for (ClientWrite& write : batch) {
    batches->client.submit(std::move(write), [batches](Result<ObjectPtr> created) {
      if (!created && created.error().reason != Reason::AlreadyExists && batches->outcome)
        batches->outcome = created.error();
      if (--batches->left == 0) run_next_batch(batches);
    });
  }
}

}  // namespace

ClientWrite built_in_definition(const std::string& name) {
  Json object = named(kCustomDefinition, "", name);
  object.get_object()["metadata"].get_object()["annotations"] =
      JsonObject{{"trainyard.dev/built-in", "true"}};
  return create(kCustomDefinition, "", std::move(object));
}

void create_initial_objects(Client& client, const ClusterIdentity& identity,
                            std::function<void(Result<void>)> done) {
  std::vector<ClientWrite> namespaces, contents;
  for (const char* ns : kNamespaces) {
    if (client.get(kNamespace, "", ns) == nullptr)
      namespaces.push_back(create(kNamespace, "", named(kNamespace, "", ns)));
    if (client.get(kServiceAccount, ns, kDefaultAccount) == nullptr)
      contents.push_back(service_account(ns));
    if (client.get(kConfigMap, ns, kRootCa) == nullptr)
      contents.push_back(root_ca(ns, identity.ca_pem));
  }
  if (client.get(kService, "default", "kubernetes") == nullptr)
    contents.push_back(kubernetes_service(identity.port));
  add_placed(client, kEndpoints, kubernetes_endpoints(identity), contents);
  add_placed(client, kEndpointSlice, kubernetes_slice(identity), contents);
  for (const std::string& definition : training_definition_names())
    if (client.get(kCustomDefinition, "", definition) == nullptr)
      contents.push_back(built_in_definition(definition));
  // One that an administrator took away stays away once another is there.
  if (client.list(kStorageClass).empty()) contents.push_back(default_storage_class());
  add_default_access(client, namespaces);
  add_system_priority_classes(client, contents);
  run_next_batch(std::make_shared<Batches>(
      Batches{client, {std::move(namespaces), std::move(contents)}, std::move(done), 0, 0, {}}));
}

NamespaceContents::NamespaceContents(Client& client, Loop& loop, ClusterIdentity identity)
    : client_(client), loop_(loop), identity_(std::move(identity)) {
  const auto again = [this](const ObjectEvent& event) {
    const std::string_view name = event.object->name();
    const bool is_deleted = event.type == ObjectEvent::Type::Deleted;
    if ((is_deleted && name == kDefaultAccount) || name == kRootCa) ensure(event.object->ns());
  };
  subscriptions_.push_back(client_.follow(kNamespace, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Added) ensure(event.object->name());
    if (event.type == ObjectEvent::Type::Deleted) make_again(event.object->name());
  }));
  subscriptions_.push_back(client_.follow(kServiceAccount, again));
  subscriptions_.push_back(client_.follow(kConfigMap, again));
  for (const ObjectPtr& ns : client_.list(kNamespace))
    ensure(ns->name());
}

NamespaceContents::~NamespaceContents() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void NamespaceContents::make_again(std::string_view ns) {
  if (std::ranges::find(kNamespaces, ns) == std::end(kNamespaces)) return;
  loop_.after(kAway, [this, alive = alive_, name = std::string(ns)] {
    if (!*alive || client_.get(kNamespace, "", name) != nullptr) return;
    client_.submit(create(kNamespace, "", named(kNamespace, "", name)),
                   [name](const Result<ObjectPtr>& made) {
                     if (made || made.error().reason == Reason::AlreadyExists) return;
                     log_warning("namespace {} was not made again: {}", name, made.error().message);
                   });
  });
}

void NamespaceContents::ensure(std::string_view ns) {
  const ObjectPtr owner = client_.get(kNamespace, "", ns);
  if (owner == nullptr || owner->is_being_deleted()) return;
  const std::string name(ns);
  const auto report = [name](Result<ObjectPtr> created) {
    if (created || created.error().reason == Reason::AlreadyExists) return;
    log_debug("namespace {}: its own objects were not kept: {}", name, created.error().message);
  };
  if (client_.get(kServiceAccount, ns, kDefaultAccount) == nullptr)
    client_.submit(service_account(name), report);
  const ObjectPtr certificate = client_.get(kConfigMap, ns, kRootCa);
  if (certificate == nullptr) {
    client_.submit(root_ca(name, identity_.ca_pem), report);
  } else if (auto write = mended_root_ca(*certificate, identity_.ca_pem)) {
    client_.submit(std::move(*write), report);
  }
}

}  // namespace yard
