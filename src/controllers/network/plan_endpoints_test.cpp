#include "controllers/network/plan_endpoints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/tree.h"
#include "testing/objects.h"

namespace yard {
namespace {

const char* const kService =
    "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default, uid: u1, labels: "
    "{app: web}}, spec: {clusterIP: 10.96.1.1, selector: {app: web}, ports: [{name: http, port: "
    "80, "
    "protocol: TCP, targetPort: 8080}]}}";

Json pod(const std::string& name, const std::string& change = "{}") {
  return changed(
      yaml(fmt::format(
          "{{metadata: {{name: {0}, namespace: default, uid: uid-{0}}}, spec: {{nodeName: here}}, "
          "status: {{phase: Running, podIP: 10.0.0.1, conditions: [{{type: Ready, status: "
          "'True'}}]}}}}",
          name)),
      change);
}

EndpointsWorld world_of(const Json& service, const std::vector<Json>& pods) {
  EndpointsWorld out{"default", "web", service, {}, {}, {}};
  for (const Json& each : pods)
    out.pods.push_back(endpoint_pod(each));
  return out;
}

// The objects a plan leaves behind, with names where the server would have made them.
EndpointsWorld after(EndpointsWorld world, const Plan& plan) {
  for (const ClientWrite& write : plan.writes) {
    if (write.resource == kEndpointsResource) {
      world.endpoints = write.object;
      continue;
    }
    const auto live = std::ranges::find_if(
        world.slices, [&](const Json& slice) { return name_of(slice) == write.name; });
    if (write.verb == ClientWrite::Verb::Delete) {
      world.slices.erase(live);
    } else if (live == world.slices.end()) {
      world.slices.push_back(write.object);
    } else {
      *live = write.object;
    }
  }
  return world;
}

std::string endpoints_of(const Plan& plan) {
  std::string out;
  for (const ClientWrite& write : plan.writes) {
    if (write.resource != kEndpointSliceResource) continue;
    for (const Json& endpoint : list_at(write.object, {"endpoints"})) {
      const auto letter = [&](const char* condition, const char* text) {
        return bool_at(endpoint, {"conditions", condition}) ? text : "";
      };
      out += fmt::format("{}{} {}{}{}{}", out.empty() ? "" : ", ",
                         text_at(endpoint, {"targetRef", "name"}), letter("ready", "R"),
                         letter("serving", "S"), letter("terminating", "T"),
                         std::string(text_at(endpoint, {"hostname"}).empty() ? "" : " named"));
    }
    out += " at " + to_text(Json(list_at(write.object, {"ports"})));
  }
  return out;
}

TEST(PlanEndpoints, SaysWhichPodsStandBehindAService) {
  const std::string http = R"( at [{"name":"http","protocol":"TCP","port":8080}])";
  const struct {
    const char* about;
    std::string service_change, pod_change, told;
  } cases[] = {
      {"a ready pod is ready and serving", "{}", "{}", "a RS" + http},
      {"one that is not ready is listed so", "{}",
       "{status: {conditions: [{type: Ready, status: 'False'}]}}", "a " + http},
      {"unless the service publishes all", "{spec: {publishNotReadyAddresses: true}}",
       "{status: {conditions: [{type: Ready, status: 'False'}]}}", "a R" + http},
      {"one on its way out still serves", "{}",
       "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}", "a ST" + http},
      {"one that ended is not there", "{}", "{status: {phase: Succeeded}}", " at []"},
      {"nor one without an address", "{}", "{status: {podIP: null}}", " at []"},
      {"a pod of this subdomain has a name of its own", "{}",
       "{spec: {hostname: a, subdomain: web}}", "a RS named" + http},
      {"of another it has none", "{}", "{spec: {hostname: a, subdomain: other}}", "a RS" + http},
      {"a port by name is the container's",
       "{spec: {ports: [{name: http, port: 80, protocol: TCP, targetPort: main}]}}",
       "{spec: {containers: [{name: c, ports: [{name: main, containerPort: 9000}]}]}}",
       R"(a RS at [{"name":"http","protocol":"TCP","port":9000}])"},
      {"a port no container names is left out",
       "{spec: {ports: [{name: http, port: 80, protocol: TCP, targetPort: main}]}}", "{}",
       "a RS at []"},
      {"a headless service needs no ports", "{spec: {clusterIP: None, ports: null}}", "{}",
       "a RS at []"},
      {"without a selector others write", "{spec: {selector: null}}", "{}", ""},
      {"an external name has no endpoints", "{spec: {type: ExternalName}}", "{}", ""},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.about);
    const EndpointsWorld world =
        world_of(changed(yaml(kService), each.service_change), {pod("a", each.pod_change)});
    const Plan plan = plan_endpoints(world);
    EXPECT_EQ(endpoints_of(plan), each.told);
    EXPECT_EQ(to_text(plan_endpoints(after(world, plan))), "") << "a second look changes nothing";
  }
}

TEST(PlanEndpoints, ASliceSaysWhoseItIs) {
  const Plan plan =
      plan_endpoints(world_of(changed(yaml(kService), "{spec: {clusterIP: None}}"), {pod("a")}));
  ASSERT_EQ(plan.writes.size(), 2u);
  const Json& slice = plan.writes[0].object;
  EXPECT_EQ(name_of(slice).substr(0, 4), "web-");
  EXPECT_EQ(name_of(slice).size(), 9u);
  EXPECT_EQ(
      to_text(*find_path(slice, {"metadata", "labels"})),
      R"({"app":"web","service.kubernetes.io/headless":"","kubernetes.io/service-name":"web",)"
      R"("endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"})");
  EXPECT_EQ(text_at(list_at(slice, {"metadata", "ownerReferences"})[0], {"uid"}), "u1");
  EXPECT_EQ(text_at(list_at(slice, {"endpoints"})[0], {"nodeName"}), "here");
  EXPECT_EQ(to_text(*find(plan.writes[1].object, "subsets")),
            R"([{"addresses":[{"ip":"10.0.0.1","targetRef":{"kind":"Pod","namespace":"default",)"
            R"("name":"a","uid":"uid-a"},"nodeName":"here"}],)"
            R"("ports":[{"name":"http","protocol":"TCP","port":8080}]}])");
}

TEST(PlanEndpoints, ASliceHoldsAHundredAndEndpointsStayWhereTheyAre) {
  std::vector<Json> pods;
  for (int i = 0; i < 250; ++i)
    pods.push_back(pod(fmt::format("p{:03}", i)));
  EndpointsWorld world = world_of(yaml(kService), pods);
  const Plan first = plan_endpoints(world);
  ASSERT_EQ(first.writes.size(), 4u);  // three slices and the Endpoints
  EXPECT_EQ(list_at(first.writes[0].object, {"endpoints"}).size(), 100u);
  EXPECT_EQ(list_at(first.writes[2].object, {"endpoints"}).size(), 50u);
  world = after(world, first);
  world.pods.erase(world.pods.begin());
  const Plan second = plan_endpoints(world);
  ASSERT_EQ(second.writes.size(), 2u) << to_text(second);
  world = after(world, second);
  world.pods.push_back(endpoint_pod(pod("new")));
  const Plan third = plan_endpoints(world);
  ASSERT_EQ(third.writes.size(), 2u);
  EXPECT_EQ(third.writes[0].name, second.writes[0].name) << "the gap is filled";
}

TEST(PlanEndpoints, AServiceThatWentTakesItsEndpointsAlong) {
  EndpointsWorld world = world_of(yaml(kService), {pod("a")});
  world = after(world, plan_endpoints(world));
  world.service = Json();
  world.pods.clear();
  EXPECT_EQ(to_text(plan_endpoints(world)), "delete Endpoints default/web");
  world.endpoints = yaml("{metadata: {name: web, namespace: default}}");
  EXPECT_EQ(to_text(plan_endpoints(world)), "") << "what others wrote stays";
}

// What people wrote by hand, as slices.
TEST(MirroredSlices, FollowEndpointsOfServicesWithoutSelector) {
  const Json service =
      yaml("{metadata: {name: web, namespace: default, uid: u1}, spec: {ports: []}}");
  const Json written = yaml(
      "{apiVersion: v1, kind: Endpoints, metadata: {name: web, namespace: default, uid: e1, "
      "labels: "
      "{a: b}}, subsets: [{addresses: [{ip: 10.1.1.1}], notReadyAddresses: [{ip: 10.1.1.2}], "
      "ports: [{port: 80}]}]}");
  EndpointsWorld world{"default", "web", service, {}, {}, written};
  const Plan made = plan_endpoints(world);
  ASSERT_EQ(made.writes.size(), 1u);
  const Json& slice = made.writes[0].object;
  EXPECT_EQ(made.writes[0].verb, ClientWrite::Verb::Create);
  EXPECT_EQ(text_at(slice, {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "endpointslicemirroring-controller.k8s.io");
  EXPECT_EQ(text_at(slice, {"metadata", "labels", "kubernetes.io/service-name"}), "web");
  EXPECT_EQ(text_at(slice, {"metadata", "labels", "a"}), "b");
  EXPECT_EQ(to_text(*find(slice, "endpoints")),
            R"([{"addresses":["10.1.1.1"],"conditions":{"ready":true}},)"
            R"({"addresses":["10.1.1.2"],"conditions":{"ready":false}}])");
  EXPECT_EQ(to_text(*find(slice, "ports")), R"([{"name":"","protocol":"TCP","port":80}])");

  world.mirrored = {slice};
  EXPECT_TRUE(plan_endpoints(world).writes.empty()) << "a plan made twice changes nothing more";
  world.endpoints.get_object()["subsets"].get_array()[0].get_object().erase("notReadyAddresses");
  const Plan changed_plan = plan_endpoints(world);
  ASSERT_EQ(changed_plan.writes.size(), 1u);
  EXPECT_EQ(changed_plan.writes[0].verb, ClientWrite::Verb::Update);

  section(world.endpoints, "metadata")["labels"] =
      yaml("{endpointslice.kubernetes.io/skip-mirror: 'true'}");
  const Plan skipped = plan_endpoints(world);
  ASSERT_EQ(skipped.writes.size(), 1u);
  EXPECT_EQ(skipped.writes[0].verb, ClientWrite::Verb::Delete);
}

}  // namespace
}  // namespace yard
