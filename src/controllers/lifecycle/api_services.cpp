#include "controllers/lifecycle/api_services.h"

#include <map>
#include <set>

#include "api/tree.h"
#include "base/log.h"

namespace yard {
namespace {

const Resource kApiService{"apiregistration.k8s.io/v1", "APIService"};
const Resource kDefinition{"apiextensions.k8s.io/v1", "CustomResourceDefinition"};
constexpr const char* kManaged = "kube-aggregator.kubernetes.io/automanaged";

// The order of groups in discovery, as upstream numbers it (kube-apiserver, apiserver/aggregator).
int64_t group_priority(std::string_view group) {
  static const std::map<std::string, int64_t, std::less<>> kPriorities = {
      {"", 18000},
      {"apps", 17800},
      {"events.k8s.io", 17750},
      {"authentication.k8s.io", 17700},
      {"authorization.k8s.io", 17600},
      {"autoscaling", 17500},
      {"batch", 17400},
      {"certificates.k8s.io", 17300},
      {"networking.k8s.io", 17200},
      {"policy", 17100},
      {"rbac.authorization.k8s.io", 17000},
      {"storage.k8s.io", 16800},
      {"admissionregistration.k8s.io", 16700},
      {"apiextensions.k8s.io", 16700},
      {"scheduling.k8s.io", 16600},
      {"coordination.k8s.io", 16500},
      {"node.k8s.io", 16300},
      {"discovery.k8s.io", 16200},
      {"flowcontrol.apiserver.k8s.io", 16100}};
  const auto found = kPriorities.find(group);
  return found == kPriorities.end() ? 1000 : found->second;
}

struct Parts {
  std::string group, version;
  std::string name() const { return version + "." + group; }
};

Parts parts_of(const std::string& api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

Json api_service(const ServedVersion& served) {
  const Parts parts = parts_of(served.api_version);
  JsonObject spec{{"version", parts.version},
                  {"groupPriorityMinimum", group_priority(parts.group)},
                  {"versionPriority", parts.group.empty() ? 1
                                      : served.custom     ? 100
                                                          : 15}};
  if (!parts.group.empty()) spec["group"] = parts.group;
  return JsonObject{
      {"apiVersion", kApiService.api_version},
      {"kind", kApiService.kind},
      {"metadata",
       JsonObject{{"name", parts.name()},
                  {"labels", JsonObject{{kManaged, served.custom ? "true" : "onstart"}}}}},
      {"spec", std::move(spec)}};
}

}  // namespace

std::vector<ClientWrite> api_service_writes(const std::vector<ServedVersion>& served,
                                            const std::vector<Json>& live) {
  std::set<std::string> there, wanted;
  for (const Json& service : live)
    there.insert(std::string(name_of(service)));
  std::vector<ClientWrite> out;
  for (const ServedVersion& each : served) {
    const std::string name = parts_of(each.api_version).name();
    if (!wanted.insert(name).second || there.contains(name)) continue;
    out.push_back({ClientWrite::Verb::Create, kApiService, "", name, api_service(each)});
  }
  for (const Json& service : live) {
    const std::string name(name_of(service));
    // What somebody made themselves is theirs.
    if (text_at(service, {"metadata", "labels", kManaged}).empty() || wanted.contains(name) ||
        is_being_deleted(service))
      continue;
    out.push_back({ClientWrite::Verb::Delete, kApiService, "", name, JsonObject{}});
  }
  return out;
}

ApiServices::ApiServices(Loop& loop, Client& client, Served served)
    : loop_(loop), client_(client), served_(std::move(served)) {
  const auto again = [this](const ObjectEvent&) { look(); };
  subscriptions_.push_back(client_.follow(kDefinition, again));
  subscriptions_.push_back(client_.follow(kApiService, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Deleted) look();
  }));
  look();
}

ApiServices::~ApiServices() {
  *alive_ = false;
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

// On a later turn: what is served follows the definitions that were just heard of.
void ApiServices::look() {
  if (will_look_) return;
  will_look_ = true;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    will_look_ = false;
    std::vector<Json> live;
    for (const ObjectPtr& service : client_.list(kApiService))
      live.push_back(service->tree());
    for (ClientWrite& write : api_service_writes(served_(), live)) {
      const std::string name = write.name;
      client_.submit(std::move(write), [name](const Result<ObjectPtr>& written) {
        if (written || written.error().reason == Reason::AlreadyExists ||
            written.error().reason == Reason::NotFound)
          return;
        log_warning("APIService {}: {}", name, written.error().message);
      });
    }
  });
}

}  // namespace yard
