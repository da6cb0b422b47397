#pragma once
// Which addresses stand behind a Service: EndpointSlices and the older Endpoints (kubernetes-core
// D1), from the Service and the pods it selects. Pure.

#include <optional>
#include <string>
#include <vector>

#include "controllers/runtime/controller.h"

namespace yard {

inline const Resource kServiceResource{"v1", "Service"};
inline const Resource kEndpointsResource{"v1", "Endpoints"};
inline const Resource kEndpointSliceResource{"discovery.k8s.io/v1", "EndpointSlice"};

// A pod as far as endpoints go.
struct EndpointPod {
  std::string name, uid, ip, node, hostname, subdomain;
  bool ready = false, deleting = false, ended = false;
  struct Port {
    std::string name, protocol;
    int64_t number = 0;
  };
  std::vector<Port> ports;  // that have a name
};
EndpointPod endpoint_pod(const Json& pod);

struct EndpointsWorld {
  std::string ns, name;
  Json service;                     // null: it is gone
  std::vector<EndpointPod> pods;    // those its selector matches, by name
  std::vector<Json> slices;         // managed by us for this Service
  Json endpoints;                   // the object of the Service's name; null: none
  std::vector<Json> mirrored = {};  // slices made from that object, where people wrote it
};
Plan plan_endpoints(const EndpointsWorld& world);

// The slices of Endpoints that somebody wrote for a Service without a selector.
void plan_mirrored_slices(const EndpointsWorld& world, Plan& plan);

// Letters that follow from a uid and a number, so that a plan made twice names the same.
std::string slice_suffix(std::string_view uid, size_t number);

inline constexpr size_t kMostEndpointsInSlice = 100;
inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
inline constexpr std::string_view kSliceManagerLabel = "endpointslice.kubernetes.io/managed-by";
inline constexpr std::string_view kSliceManager = "endpointslice-controller.k8s.io";
inline constexpr std::string_view kSliceMirror = "endpointslicemirroring-controller.k8s.io";

}  // namespace yard
