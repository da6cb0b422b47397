#pragma once
// From Services and the pods behind them to what DNS answers and what a ClusterIP forwards to
// (kubernetes-core D1, D2). Pure.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace yard {

// One place a service leads to.
struct ServiceEndpoint {
  std::string address;
  std::string hostname;  // its own name below the service's; "": a-b-c-d of its address
  bool ready = false;    // takes traffic
  // Is found by its name: ready, or on its way to be with nothing that could hold it back. Peers of
  // a training job look each other up before any of them is Ready.
  bool named = false;
  // A pod's named container ports, for targetPort; of an endpoint that someone wrote by hand the
  // numbers behind the service's own port names.
  std::vector<std::pair<std::string, int>> ports;
  bool by_hand = false;
};

// What of a pod its services need; nullopt: it has no address, or has ended.
std::optional<ServiceEndpoint> pod_endpoint(const Json& pod, std::string_view address,
                                            const Json& service);
// Of an EndpointSlice or Endpoints object, for services without a selector.
std::vector<ServiceEndpoint> slice_endpoints(const Json& slice);
std::vector<ServiceEndpoint> endpoints_endpoints(const Json& endpoints);

struct ServiceNames {
  std::set<std::string> records;  // lines of DnsZone
  // <ClusterIP>|<gateway>|host <port> TCP|UDP <address>:<port>[,...][,affinity=<seconds>]
  std::set<std::string> forwards;
};
ServiceNames service_names(const Json& service, const std::vector<ServiceEndpoint>& endpoints);

}  // namespace yard
