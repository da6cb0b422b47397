#include <gtest/gtest.h>

#include "node/network/dns_zone.h"
#include "node/network/hosts_names.h"
#include "node/network/ipv4.h"
#include "node/network/resolv_conf.h"
#include "node/network/service_names.h"
#include "testing/objects.h"

namespace yard {
namespace {

Json parsed(std::string_view text) {
  auto out = parse_json(text);
  EXPECT_TRUE(out) << text;
  return out ? std::move(out->value) : Json();
}

TEST(Ipv4, TextsAreReadStrictly) {
  struct Row {
    std::string_view text;
    std::optional<Ipv4> address;
  };
  const Row rows[] = {{"10.244.0.5", 0x0af40005},
                      {"255.255.255.255", 0xffffffff},
                      {"0.0.0.0", 0},
                      {"10.244.0", std::nullopt},
                      {"10.244.0.256", std::nullopt},
                      {"10.244.0.-1", std::nullopt},
                      {"10.244.0.0005", std::nullopt},
                      {"", std::nullopt},
                      {"a.b.c.d", std::nullopt}};
  for (const Row& row : rows) {
    EXPECT_EQ(parse_ipv4(row.text), row.address) << row.text;
    if (row.address) {
      EXPECT_EQ(ipv4_text(*row.address), row.text);
    }
  }
}

TEST(AddressPool, GivesTheLongestUnusedAndKeepsWhatIsKnown) {
  AddressPool pool({0x0af40000, 29});  // .2 to .6 are for pods
  ASSERT_EQ(pool.take(), 0x0af40002u);
  EXPECT_TRUE(pool.take(0x0af40004));
  EXPECT_FALSE(pool.take(0x0af40004)) << "in use";
  EXPECT_FALSE(pool.take(0x0af40001)) << "the gateway's";
  EXPECT_FALSE(pool.take(0x0af40007)) << "the broadcast's";
  EXPECT_FALSE(pool.take(0x01020304)) << "another range's";
  pool.release(0x0af40002);
  EXPECT_EQ(pool.take(), 0x0af40003u);
  EXPECT_EQ(pool.take(), 0x0af40005u);
  EXPECT_EQ(pool.take(), 0x0af40006u);
  EXPECT_EQ(pool.take(), 0x0af40002u) << "released, and again its turn";
  EXPECT_EQ(pool.take(), std::nullopt);
}

// A pod of a job with a headless service, as the row says.
struct EndpointRow {
  const char* about;
  const char* pod;
  const char* address;
  bool is_endpoint, named, ready;
  const char* hostname;
};

TEST(ServiceNames, WhichPodsAreFoundBehindAService) {
  const Json service = parsed(R"({"metadata":{"name":"trainer","namespace":"ns"},
      "spec":{"clusterIP":"None"}})");
  const EndpointRow rows[] = {
      {"bound, with its hostname below the service, not yet started",
       R"({"metadata":{},"spec":{"hostname":"job-0","subdomain":"trainer"}})", "10.244.0.5", true,
       true, false, "job-0"},
      {"the subdomain of another service gives no name here",
       R"({"metadata":{},"spec":{"hostname":"job-0","subdomain":"other"}})", "10.244.0.5", true,
       true, false, ""},
      {"running and Ready",
       R"({"metadata":{},"spec":{},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
       "10.244.0.5", true, true, true, ""},
      {"a readiness probe that has not yet succeeded holds it back",
       R"({"metadata":{},"spec":{"containers":[{"readinessProbe":{}}]},"status":{"phase":"Pending"}})",
       "10.244.0.5", true, false, false, ""},
      {"its own name is known all the same",
       R"({"metadata":{},"spec":{"hostname":"job-0","subdomain":"trainer","containers":[{"readinessProbe":{}}]}})",
       "10.244.0.5", true, true, false, "job-0"},
      {"running and not Ready", R"({"metadata":{},"spec":{},"status":{"phase":"Running"}})",
       "10.244.0.5", true, false, false, ""},
      {"being deleted",
       R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
       "10.244.0.5", true, false, false, ""},
      {"ended", R"({"metadata":{},"spec":{},"status":{"phase":"Succeeded"}})", "10.244.0.5", false,
       false, false, ""},
      {"not yet bound", R"({"metadata":{},"spec":{}})", "", false, false, false, ""},
  };
  for (const EndpointRow& row : rows) {
    const auto endpoint = pod_endpoint(parsed(row.pod), row.address, service);
    ASSERT_EQ(endpoint.has_value(), row.is_endpoint) << row.about;
    if (!endpoint) continue;
    EXPECT_EQ(endpoint->named, row.named) << row.about;
    EXPECT_EQ(endpoint->ready, row.ready) << row.about;
    EXPECT_EQ(endpoint->hostname, row.hostname) << row.about;
  }
}

ServiceEndpoint ready_at(std::string address, std::string hostname = "") {
  ServiceEndpoint out;
  out.address = std::move(address);
  out.hostname = std::move(hostname);
  out.ready = out.named = true;
  out.ports = {{"web", 8080}};
  return out;
}

TEST(ServiceNames, WhatEachSortOfServiceLeadsTo) {
  struct Row {
    const char* about;
    const char* spec;
    std::vector<ServiceEndpoint> endpoints;
    std::set<std::string> records, forwards;
  };
  ServiceEndpoint not_ready = ready_at("10.244.0.7");
  not_ready.ready = not_ready.named = false;
  ServiceEndpoint by_hand = ready_at("192.0.2.1");
  by_hand.by_hand = true;
  by_hand.ports = {{"http", 9000}};
  const Row rows[] = {
      {"headless: all endpoints, each by its name or its address, and its ports",
       R"({"clusterIP":"None","ports":[{"name":"http","port":80,"targetPort":"web"}]})",
       {ready_at("10.244.0.5", "job-0"), ready_at("10.244.0.6")},
       {"trainer.ns.svc.cluster.local A 10.244.0.5", "trainer.ns.svc.cluster.local A 10.244.0.6",
        "job-0.trainer.ns.svc.cluster.local A 10.244.0.5",
        "10-244-0-6.trainer.ns.svc.cluster.local A 10.244.0.6",
        "10.244.0.5 PTR job-0.trainer.ns.svc.cluster.local",
        "_http._tcp.trainer.ns.svc.cluster.local SRV 8080 job-0.trainer.ns.svc.cluster.local",
        "_http._tcp.trainer.ns.svc.cluster.local SRV 8080 10-244-0-6.trainer.ns.svc.cluster.local"},
       {}},
      {"headless: who is not ready is left out", R"({"clusterIP":"None"})", {not_ready}, {}, {}},
      {"unless the service says otherwise",
       R"({"clusterIP":"None","publishNotReadyAddresses":true})",
       {not_ready},
       {"trainer.ns.svc.cluster.local A 10.244.0.7",
        "10-244-0-7.trainer.ns.svc.cluster.local A 10.244.0.7"},
       {}},
      {"a ClusterIP forwards to who is ready",
       R"({"clusterIP":"10.96.3.4","ports":[{"name":"http","port":80,"targetPort":"web"},{"name":"dns","port":53,"protocol":"UDP","targetPort":5353}]})",
       {ready_at("10.244.0.6"), ready_at("10.244.0.5"), not_ready},
       {"trainer.ns.svc.cluster.local A 10.96.3.4", "10.96.3.4 PTR trainer.ns.svc.cluster.local",
        "_http._tcp.trainer.ns.svc.cluster.local SRV 80 trainer.ns.svc.cluster.local",
        "_dns._udp.trainer.ns.svc.cluster.local SRV 53 trainer.ns.svc.cluster.local"},
       {"10.96.3.4 80 TCP 10.244.0.5:8080,10.244.0.6:8080",
        "10.96.3.4 53 UDP 10.244.0.5:5353,10.244.0.6:5353"}},
      {"node ports are doors of the machine and of the island's gateway, clients stay where they "
       "were",
       R"({"type":"NodePort","clusterIP":"10.96.3.4","sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":60}},"ports":[{"port":80,"targetPort":"web","nodePort":30080}]})",
       {ready_at("10.244.0.5")},
       {"trainer.ns.svc.cluster.local A 10.96.3.4", "10.96.3.4 PTR trainer.ns.svc.cluster.local"},
       {"10.96.3.4 80 TCP 10.244.0.5:8080,affinity=60",
        "host 30080 TCP 10.244.0.5:8080,affinity=60",
        "10.244.0.1 30080 TCP 10.244.0.5:8080,affinity=60"}},
      {"endpoints written by hand have their own ports",
       R"({"clusterIP":"10.96.3.4","ports":[{"name":"http","port":80}]})",
       {by_hand},
       {"trainer.ns.svc.cluster.local A 10.96.3.4", "10.96.3.4 PTR trainer.ns.svc.cluster.local",
        "_http._tcp.trainer.ns.svc.cluster.local SRV 80 trainer.ns.svc.cluster.local"},
       {"10.96.3.4 80 TCP 192.0.2.1:9000"}},
      {"ExternalName",
       R"({"type":"ExternalName","externalName":"example.org."})",
       {},
       {"trainer.ns.svc.cluster.local CNAME example.org"},
       {}},
  };
  for (const Row& row : rows) {
    const Json service = parsed(
        std::string(R"({"metadata":{"name":"trainer","namespace":"ns"},"spec":)") + row.spec + "}");
    const ServiceNames names = service_names(service, row.endpoints);
    EXPECT_EQ(names.records, row.records) << row.about;
    EXPECT_EQ(names.forwards, row.forwards) << row.about;
  }
}

TEST(ResolvConf, FollowsThePolicyOfThePod) {
  struct Row {
    const char* about;
    const char* spec;
    const char* dns;
    const char* text;
  };
  constexpr const char* kHost =
      "# made by someone\nnameserver 127.0.0.53\nsearch lan example.org\noptions edns0\n";
  const Row rows[] = {
      {"ClusterFirst: the cluster's names first", "{}", "10.96.0.10",
       "search ns.svc.cluster.local svc.cluster.local cluster.local lan example.org\n"
       "nameserver 10.96.0.10\noptions ndots:5\n"},
      {"Default: the host's searches, through a resolver that the pod reaches",
       R"({"dnsPolicy":"Default"})", "10.96.0.10",
       "search lan example.org\nnameserver 10.96.0.10\noptions edns0\n"},
      {"None: only what the pod says",
       R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["1.2.3.4"],"searches":["a.b"],"options":[{"name":"ndots","value":"2"},{"name":"edns0"}]}})",
       "10.96.0.10", "search a.b\nnameserver 1.2.3.4\noptions ndots:2 edns0\n"},
      {"dnsConfig is added, and an option of the same name replaces",
       R"({"dnsConfig":{"nameservers":["1.2.3.4"],"searches":["a.b","lan"],"options":[{"name":"ndots","value":"2"}]}})",
       "10.96.0.10",
       "search ns.svc.cluster.local svc.cluster.local cluster.local lan example.org a.b\n"
       "nameserver 10.96.0.10\nnameserver 1.2.3.4\noptions ndots:2\n"},
      {"hostNetwork sees the host's file", R"({"hostNetwork":true})", "10.96.0.10", ""},
      {"without an island too", "{}", "", ""},
  };
  for (const Row& row : rows) {
    const Json pod =
        parsed(std::string(R"({"metadata":{"namespace":"ns"},"spec":)") + row.spec + "}");
    EXPECT_EQ(resolv_conf(pod, kHost, row.dns), row.text) << row.about;
  }
  EXPECT_EQ(nameservers_of(kHost), std::vector<std::string>{"127.0.0.53"});
}

TEST(HostsNames, ANameHasEveryFormThatASearchWouldFind) {
  const std::set<std::string> records{"job-0.trainer.ns.svc.cluster.local A 127.64.0.5",
                                      "10.96.0.1 PTR kubernetes.default.svc.cluster.local",
                                      "away.ns.svc.cluster.local CNAME example.org"};
  EXPECT_EQ(hosts_lines(records, "ns"),
            "127.64.0.5\tjob-0.trainer.ns.svc.cluster.local job-0.trainer.ns.svc job-0.trainer.ns "
            "job-0.trainer\n");
  EXPECT_EQ(hosts_lines(records, "other"),
            "127.64.0.5\tjob-0.trainer.ns.svc.cluster.local job-0.trainer.ns.svc "
            "job-0.trainer.ns\n");
  const std::string once = with_hosts_lines("127.0.0.1\tlocalhost\n", "1.1.1.1\ta\n");
  EXPECT_EQ(with_hosts_lines(once, "2.2.2.2\tb\n"),
            "127.0.0.1\tlocalhost\n\n# Names of the cluster.\n2.2.2.2\tb\n");
  EXPECT_EQ(with_hosts_lines(once, ""), "127.0.0.1\tlocalhost\n");
}

}  // namespace
}  // namespace yard
