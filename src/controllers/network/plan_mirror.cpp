// EndpointSlices of Endpoints that people wrote themselves, so that readers of slices find them too
// (as upstream's endpointslicemirroring controller does).

#include <algorithm>
#include <set>

#include "api/tree.h"
#include "controllers/network/plan_endpoints.h"

namespace yard {
namespace {

constexpr const char* kSkipMirror = "endpointslice.kubernetes.io/skip-mirror";
constexpr const char* kLeader = "control-plane.alpha.kubernetes.io/leader";
constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr size_t kMostMirrored = 1000;  // addresses of one subset, as upstream

bool is_mirrored(const Json& endpoints) {
  return !endpoints.is_null() && !is_being_deleted(endpoints) &&
         text_at(endpoints, {"metadata", "labels", kSkipMirror}) != "true" &&
         find_path(endpoints, {"metadata", "annotations", kLeader}) == nullptr;
}

Json mirrored_endpoint(const Json& address, bool ready) {
  JsonObject out{{"addresses", JsonArray{text_at(address, {"ip"})}},
                 {"conditions", JsonObject{{"ready", ready}}}};
  for (const char* member : {"hostname", "nodeName", "targetRef"}) {
    if (const Json* value = find(address, member)) out[member] = *value;
  }
  return out;
}

JsonArray mirrored_ports(const Json& subset) {
  JsonArray out;
  for (const Json& port : list_at(subset, {"ports"})) {
    JsonObject entry{{"name", text_at(port, {"name"})},
                     {"protocol", text_at(port, {"protocol"}, "TCP")},
                     {"port", int_at(port, {"port"})}};
    if (const Json* app = find(port, "appProtocol")) entry["appProtocol"] = *app;
    out.push_back(std::move(entry));
  }
  return out;
}

// One for each subset and family of addresses.
std::vector<Json> wanted_slices(const EndpointsWorld& world) {
  std::vector<Json> out;
  for (const Json& subset : list_at(world.endpoints, {"subsets"})) {
    for (const bool six : {false, true}) {
      JsonArray endpoints;
      for (const bool ready : {true, false}) {
        for (const Json& address : list_at(subset, {ready ? "addresses" : "notReadyAddresses"})) {
          const bool is_six = text_at(address, {"ip"}).find(':') != std::string_view::npos;
          if (is_six == six && endpoints.size() < kMostMirrored)
            endpoints.push_back(mirrored_endpoint(address, ready));
        }
      }
      if (endpoints.empty()) continue;
      out.push_back(JsonObject{{"addressType", six ? "IPv6" : "IPv4"},
                               {"endpoints", std::move(endpoints)},
                               {"ports", mirrored_ports(subset)}});
    }
  }
  return out;
}

JsonObject mirror_metadata(const EndpointsWorld& world, std::string name) {
  JsonObject labels = map_at(world.endpoints, {"metadata", "labels"});
  labels[kServiceNameLabel] = world.name;
  labels[kSliceManagerLabel] = kSliceMirror;
  JsonObject annotations = map_at(world.endpoints, {"metadata", "annotations"});
  annotations.erase(kLastApplied);
  JsonObject out{{"name", std::move(name)},
                 {"namespace", world.ns},
                 {"labels", std::move(labels)},
                 {"ownerReferences",
                  JsonArray{JsonObject{{"apiVersion", "v1"},
                                       {"kind", "Endpoints"},
                                       {"name", world.name},
                                       {"uid", text_at(world.endpoints, {"metadata", "uid"})},
                                       {"controller", true},
                                       {"blockOwnerDeletion", true}}}}};
  if (!annotations.empty()) out["annotations"] = std::move(annotations);
  return out;
}

bool has_content(const Json& slice, const Json& wanted) {
  return same(find(slice, "endpoints"), find(wanted, "endpoints")) &&
         same(find(slice, "ports"), find(wanted, "ports"));
}

}  // namespace

void plan_mirrored_slices(const EndpointsWorld& world, Plan& plan) {
  std::vector<Json> wanted;
  if (is_mirrored(world.endpoints)) wanted = wanted_slices(world);
  std::set<std::string> names;
  std::vector<const Json*> free;
  for (const Json& slice : world.mirrored) {
    names.insert(std::string(name_of(slice)));
    const auto found =
        std::ranges::find_if(wanted, [&](const Json& one) { return has_content(slice, one); });
    if (found == wanted.end()) {
      free.push_back(&slice);
    } else {
      wanted.erase(found);
    }
  }
  for (Json& slice : wanted) {
    // A slice that is no longer right becomes one that is; the family of addresses stays.
    const auto reused = std::ranges::find_if(free, [&](const Json* one) {
      return text_at(*one, {"addressType"}) == text_at(slice, {"addressType"});
    });
    if (reused != free.end()) {
      Json next = **reused;
      next.get_object()["endpoints"] = *find(slice, "endpoints");
      next.get_object()["ports"] = *find(slice, "ports");
      plan.writes.push_back({ClientWrite::Verb::Update, kEndpointSliceResource, world.ns,
                             std::string(name_of(next)), next});
      free.erase(reused);
      continue;
    }
    std::string name;
    for (size_t number = 0; name.empty() || names.contains(name); ++number)
      name = world.name + "-" + slice_suffix(text_at(world.endpoints, {"metadata", "uid"}), number);
    names.insert(name);
    JsonObject& object = slice.get_object();
    object["apiVersion"] = kEndpointSliceResource.api_version;
    object["kind"] = kEndpointSliceResource.kind;
    object["metadata"] = mirror_metadata(world, name);
    plan.writes.push_back({ClientWrite::Verb::Create, kEndpointSliceResource, world.ns,
                           std::move(name), std::move(slice)});
  }
  for (const Json* slice : free) {
    if (is_being_deleted(*slice)) continue;
    plan.writes.push_back(
        {ClientWrite::Verb::Delete, kEndpointSliceResource, world.ns, std::string(name_of(*slice)),
         JsonObject{{"preconditions", JsonObject{{"uid", text_at(*slice, {"metadata", "uid"})}}}}});
  }
}

}  // namespace yard
