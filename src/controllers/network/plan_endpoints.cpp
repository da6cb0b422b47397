#include "controllers/network/plan_endpoints.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/tree.h"

namespace yard {
namespace {

constexpr const char* kEndpointsManagerLabel = "endpoints.kubernetes.io/managed-by";
constexpr const char* kEndpointsManager = "endpoint-controller";
constexpr const char* kHeadlessLabel = "service.kubernetes.io/headless";
constexpr size_t kMostAddresses = 1000;  // of one Endpoints object

int64_t target_number(const Json& port, const EndpointPod& pod) {
  const Json* target = find(port, "targetPort");
  if (target == nullptr) return int_at(port, {"port"});
  if (!target->is_string()) return int_at(port, {"targetPort"});
  const std::string_view name = text_of(*target), protocol = text_at(port, {"protocol"}, "TCP");
  for (const EndpointPod::Port& each : pod.ports)
    if (each.name == name && each.protocol == protocol) return each.number;
  return 0;
}

// A port by name may be another number in each pod; one that a pod lacks is left out there.
JsonArray ports_for(const Json& service, const EndpointPod& pod) {
  JsonArray out;
  for (const Json& port : list_at(service, {"spec", "ports"})) {
    const int64_t number = target_number(port, pod);
    if (number == 0) continue;
    JsonObject entry{{"name", text_at(port, {"name"})},
                     {"protocol", text_at(port, {"protocol"}, "TCP")},
                     {"port", number}};
    if (const Json* app = find(port, "appProtocol")) entry["appProtocol"] = *app;
    out.push_back(std::move(entry));
  }
  return out;
}

Json reference_to(const EndpointsWorld& world, const EndpointPod& pod) {
  return JsonObject{{"kind", "Pod"}, {"namespace", world.ns}, {"name", pod.name}, {"uid", pod.uid}};
}

bool has_own_name(const EndpointsWorld& world, const EndpointPod& pod) {
  return !pod.hostname.empty() && pod.subdomain == world.name;
}

bool publishes_all(const Json& service) {
  return bool_at(service, {"spec", "publishNotReadyAddresses"});
}

Json slice_endpoint(const EndpointsWorld& world, const EndpointPod& pod) {
  const bool ready = publishes_all(world.service) || (pod.ready && !pod.deleting);
  JsonObject out{
      {"addresses", JsonArray{pod.ip}},
      {"conditions",
       JsonObject{{"ready", ready}, {"serving", pod.ready}, {"terminating", pod.deleting}}},
      {"targetRef", reference_to(world, pod)}};
  if (has_own_name(world, pod)) out["hostname"] = pod.hostname;
  if (!pod.node.empty()) out["nodeName"] = pod.node;
  return out;
}

bool is_headless_service(const Json& service) {
  return text_at(service, {"spec", "clusterIP"}) == "None";
}

JsonObject labels_of(const EndpointsWorld& world) {
  JsonObject out = map_at(world.service, {"metadata", "labels"});
  if (is_headless_service(world.service)) {
    out[kHeadlessLabel] = "";
  } else {
    out.erase(kHeadlessLabel);
  }
  return out;
}

JsonObject slice_labels(const EndpointsWorld& world) {
  JsonObject out = labels_of(world);
  out[kServiceNameLabel] = world.name;
  out[kSliceManagerLabel] = kSliceManager;
  return out;
}

Json owner_of(const EndpointsWorld& world) {
  return JsonObject{{"apiVersion", "v1"}, {"kind", "Service"},
                    {"name", world.name}, {"uid", text_at(world.service, {"metadata", "uid"})},
                    {"controller", true}, {"blockOwnerDeletion", true}};
}

// Endpoints that share their ports, as they are spread over slices.
struct SliceDraft {
  const Json* live = nullptr;  // null: a new one
  JsonArray endpoints;
};

class SlicePlanner {
 public:
  SlicePlanner(const EndpointsWorld& world, Plan& plan) : world_(world), plan_(plan) {
    for (const Json& slice : world.slices)
      names_.insert(std::string(name_of(slice)));
  }

  void run() {
    struct Group {
      JsonArray ports;
      std::map<std::string, Json> endpoints;  // by pod uid
    };
    std::map<std::string, Group> groups;  // by the text of their ports
    for (const EndpointPod& pod : world_.pods) {
      if (pod.ip.empty() || pod.ended) continue;
      JsonArray ports = ports_for(world_.service, pod);
      Group& group = groups[to_text(Json(ports))];
      group.ports = std::move(ports);
      group.endpoints.emplace(pod.uid, slice_endpoint(world_, pod));
    }
    // A Service without endpoints still has a slice, so that its reader knows it was looked at.
    if (groups.empty()) groups[to_text(Json(JsonArray()))];
    std::set<const Json*> kept;
    for (auto& [text, group] : groups) {
      for (SliceDraft& draft : spread(text, std::move(group.endpoints), groups.size() == 1)) {
        if (draft.live != nullptr) kept.insert(draft.live);
        write(draft, group.ports);
      }
    }
    for (const Json& slice : world_.slices)
      if (!kept.contains(&slice)) remove(slice);
  }

 private:
  // Endpoints stay in the slice they are in; new ones fill up, what is left over makes new slices.
  std::vector<SliceDraft> spread(const std::string& ports, std::map<std::string, Json> endpoints,
                                 bool only_group) {
    std::vector<SliceDraft> out;
    for (const Json& slice : world_.slices) {
      const bool fits = to_text(Json(list_at(slice, {"ports"}))) == ports;
      if (!fits) continue;
      SliceDraft draft{&slice, {}};
      for (const Json& endpoint : list_at(slice, {"endpoints"})) {
        const auto found = endpoints.find(std::string(text_at(endpoint, {"targetRef", "uid"})));
        if (found == endpoints.end()) continue;
        draft.endpoints.push_back(std::move(found->second));
        endpoints.erase(found);
      }
      out.push_back(std::move(draft));
    }
    size_t at = 0;
    for (auto& [uid, endpoint] : endpoints) {
      while (at < out.size() && out[at].endpoints.size() >= kMostEndpointsInSlice)
        ++at;
      if (at == out.size()) out.emplace_back();
      out[at].endpoints.push_back(std::move(endpoint));
    }
    const bool any =
        std::ranges::any_of(out, [](const SliceDraft& draft) { return !draft.endpoints.empty(); });
    if (out.empty()) out.emplace_back();
    if (any || !only_group) {
      std::erase_if(out, [](const SliceDraft& draft) { return draft.endpoints.empty(); });
    } else {
      out.resize(1);
    }
    return out;
  }

  void write(SliceDraft& draft, const JsonArray& ports) {
    const Json* uid = find_path(world_.service, {"metadata", "uid"});
    if (draft.live == nullptr) {
      std::string name;
      for (size_t number = 0; name.empty() || names_.contains(name); ++number)
        name = world_.name + "-" + slice_suffix(text_of(*uid), number);
      names_.insert(name);
      JsonObject metadata{{"name", name},
                          {"namespace", world_.ns},
                          {"labels", slice_labels(world_)},
                          {"ownerReferences", JsonArray{owner_of(world_)}}};
      Json slice = JsonObject{{"apiVersion", kEndpointSliceResource.api_version},
                              {"kind", kEndpointSliceResource.kind},
                              {"metadata", std::move(metadata)},
                              {"addressType", "IPv4"},
                              {"endpoints", std::move(draft.endpoints)},
                              {"ports", ports}};
      plan_.writes.push_back({ClientWrite::Verb::Create, kEndpointSliceResource, world_.ns,
                              std::move(name), std::move(slice)});
      return;
    }
    Json next = *draft.live;
    section(next, "metadata")["labels"] = slice_labels(world_);
    next.get_object()["endpoints"] = std::move(draft.endpoints);
    next.get_object()["ports"] = ports;
    const bool is_same = same(find(next, "endpoints"), find(*draft.live, "endpoints")) &&
                         same(find_path(next, {"metadata", "labels"}),
                              find_path(*draft.live, {"metadata", "labels"}));
    if (is_same) return;
    plan_.writes.push_back({ClientWrite::Verb::Update, kEndpointSliceResource, world_.ns,
                            std::string(name_of(*draft.live)), std::move(next)});
  }

  void remove(const Json& slice) {
    if (is_being_deleted(slice)) return;
    plan_.writes.push_back(
        {ClientWrite::Verb::Delete, kEndpointSliceResource, world_.ns, std::string(name_of(slice)),
         JsonObject{{"preconditions", JsonObject{{"uid", text_at(slice, {"metadata", "uid"})}}}}});
  }

  const EndpointsWorld& world_;
  Plan& plan_;
  std::set<std::string> names_;
};

JsonArray subsets_of(const EndpointsWorld& world, bool& truncated) {
  struct Group {
    JsonArray ports, ready, not_ready;
  };
  std::map<std::string, Group> groups;
  size_t count = 0;
  for (const EndpointPod& pod : world.pods) {
    const bool all = publishes_all(world.service);
    if (pod.ip.empty() || pod.ended || (pod.deleting && !all)) continue;
    if (++count > kMostAddresses) {
      truncated = true;
      break;
    }
    JsonObject address{{"ip", pod.ip}, {"targetRef", reference_to(world, pod)}};
    if (has_own_name(world, pod)) address["hostname"] = pod.hostname;
    if (!pod.node.empty()) address["nodeName"] = pod.node;
    JsonArray ports = ports_for(world.service, pod);
    for (Json& port : ports)
      if (text_at(port, {"name"}).empty()) port.get_object().erase("name");
    Group& group = groups[to_text(Json(ports))];
    group.ports = std::move(ports);
    (all || pod.ready ? group.ready : group.not_ready).push_back(std::move(address));
  }
  JsonArray out;
  for (auto& [text, group] : groups) {
    JsonObject subset;
    if (!group.ready.empty()) subset["addresses"] = std::move(group.ready);
    if (!group.not_ready.empty()) subset["notReadyAddresses"] = std::move(group.not_ready);
    if (!group.ports.empty()) subset["ports"] = std::move(group.ports);
    out.push_back(std::move(subset));
  }
  return out;
}

void plan_endpoints_object(const EndpointsWorld& world, Plan& plan) {
  bool truncated = false;
  JsonArray subsets = subsets_of(world, truncated);
  JsonObject labels = labels_of(world);
  labels[kEndpointsManagerLabel] = kEndpointsManager;
  Json next = world.endpoints;
  const bool is_new = next.is_null();
  if (is_new) {
    next = JsonObject{{"apiVersion", "v1"},
                      {"kind", "Endpoints"},
                      {"metadata", JsonObject{{"name", world.name}, {"namespace", world.ns}}}};
  }
  section(next, "metadata")["labels"] = std::move(labels);
  if (truncated)
    object_at(section(next, "metadata"), "annotations")["endpoints.kubernetes.io/over-capacity"] =
        "truncated";
  next.get_object()["subsets"] = std::move(subsets);
  const bool is_same = !is_new && same(find(next, "subsets"), find(world.endpoints, "subsets")) &&
                       same(find_path(next, {"metadata", "labels"}),
                            find_path(world.endpoints, {"metadata", "labels"}));
  if (is_same) return;
  plan.writes.push_back({is_new ? ClientWrite::Verb::Create : ClientWrite::Verb::Update,
                         kEndpointsResource, world.ns, world.name, std::move(next)});
}

// Slices go with their owner; Endpoints have none.
void remove_endpoints_object(const EndpointsWorld& world, Plan& plan) {
  const bool ours =
      !world.endpoints.is_null() &&
      text_at(world.endpoints, {"metadata", "labels", kEndpointsManagerLabel}) == kEndpointsManager;
  if (!ours || is_being_deleted(world.endpoints)) return;
  plan.writes.push_back(
      {ClientWrite::Verb::Delete, kEndpointsResource, world.ns, world.name,
       JsonObject{
           {"preconditions", JsonObject{{"uid", text_at(world.endpoints, {"metadata", "uid"})}}}}});
}

}  // namespace

std::string slice_suffix(std::string_view uid, size_t number) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  uint64_t hash = 14695981039346656037u;
  const auto mix = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const char c : uid)
    mix(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 32; shift += 8)
    mix(static_cast<unsigned char>(number >> shift));
  std::string out;
  for (int i = 0; i < 5; ++i, hash /= kLetters.size())
    out += kLetters[hash % kLetters.size()];
  return out;
}

EndpointPod endpoint_pod(const Json& pod) {
  EndpointPod out;
  out.name = name_of(pod);
  out.uid = text_at(pod, {"metadata", "uid"});
  out.ip = text_at(pod, {"status", "podIP"});
  out.node = text_at(pod, {"spec", "nodeName"});
  out.hostname = text_at(pod, {"spec", "hostname"});
  out.subdomain = text_at(pod, {"spec", "subdomain"});
  out.ready = condition_status(pod, "Ready") == "True";
  out.deleting = is_being_deleted(pod);
  const std::string_view phase = text_at(pod, {"status", "phase"});
  out.ended = phase == "Succeeded" || phase == "Failed";
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list}))
      for (const Json& port : list_at(container, {"ports"}))
        if (const std::string_view name = text_at(port, {"name"}); !name.empty())
          out.ports.push_back({std::string(name), std::string(text_at(port, {"protocol"}, "TCP")),
                               int_at(port, {"containerPort"})});
  }
  return out;
}

Plan plan_endpoints(const EndpointsWorld& world) {
  Plan plan;
  if (world.service.is_null()) {
    remove_endpoints_object(world, plan);
    return plan;
  }
  if (is_being_deleted(world.service) || text_at(world.service, {"spec", "type"}) == "ExternalName")
    return plan;
  // Without a selector the endpoints are someone else's to write.
  if (map_at(world.service, {"spec", "selector"}).empty()) {
    plan_mirrored_slices(world, plan);
    return plan;
  }
  SlicePlanner(world, plan).run();
  plan_endpoints_object(world, plan);
  return plan;
}

}  // namespace yard
