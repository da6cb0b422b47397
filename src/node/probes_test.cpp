#include "node/probes.h"

#include <gtest/gtest.h>

#include "node/grpc_health.h"
#include "node/handler_call.h"
#include "node/pod_storage.h"
#include "testing/objects.h"

namespace yard {
namespace {

TEST(Probes, AsManyAnswersInARowAsTheThresholdsAsk) {
  const Json container =
      yaml("readinessProbe: {tcpSocket: {port: 1}, failureThreshold: 3, successThreshold: 2}");
  const auto spec = probe_of(container, ProbeKind::Readiness);
  ASSERT_TRUE(spec);
  struct Case {
    const char* about;
    const char* answers;  // + good, - bad, ? not asked
    const char* healthy;
  };
  const Case cases[] = {
      {"nothing yet", "", "unknown"},
      {"one good answer is not enough", "+", "unknown"},
      {"two are", "++", "yes"},
      {"two bad ones change nothing", "++--", "yes"},
      {"three do", "++---", "no"},
      {"a good one in between starts the count anew", "++--+--", "yes"},
      {"what could not be asked counts for nothing", "++-?--", "no"},
  };
  for (const Case& each : cases) {
    ProbeState state;
    for (const char answer : std::string(each.answers)) {
      std::optional<bool> good;
      if (answer != '?') good = answer == '+';
      state = after_answer(*spec, after_question(*spec, state, Time{}), good);
    }
    const char* healthy = !state.healthy ? "unknown" : *state.healthy ? "yes" : "no";
    EXPECT_STREQ(healthy, each.healthy) << each.about;
    EXPECT_FALSE(state.under_way);
  }
}

TEST(HandlerCall, IsReadFromTheYaml) {
  const Json container = yaml(R"(
name: c
ports: [{name: web, containerPort: 8080}]
env: [{name: FILE, value: /tmp/x}, {name: SECRET, valueFrom: {}}]
)");
  const auto call = [&](const char* handler, HandlerUse use = HandlerUse::Probe) {
    return handler_call(container, yaml(handler), use, "10.0.0.7");
  };
  EXPECT_EQ(call("exec: {command: [cat, $(FILE), x$(SECRET)y, $(NO)]}")->argv,
            (std::vector<std::string>{"cat", "/tmp/x", "xy", "$(NO)"}));
  EXPECT_EQ(call("exec: {command: [$(FILE)]}", HandlerUse::Hook)->argv,
            (std::vector<std::string>{"$(FILE)"}));
  const auto http = call(
      "httpGet: {port: web, path: healthz?a b, httpHeaders: [{name: X, value: z}, "
      "{name: host, value: h}, {name: Bad, value: \"a\\r\\nb\"}]}");
  EXPECT_EQ(http_request_text(*http),
            "GET /healthz?a%20b HTTP/1.1\r\nHost: h\r\nUser-Agent: kube-probe/1.34\r\nAccept: "
            "*/*\r\nX: z\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(url_of(*http), "http://10.0.0.7:8080/healthz?a%20b");
  EXPECT_EQ(call("tcpSocket: {port: 22, host: box}")->host, "box");
  EXPECT_EQ(call("sleep: {seconds: 3}")->sleep, std::chrono::seconds(3));
  EXPECT_EQ(call("httpGet: {port: nope}").error().message, "couldn't find port: \"nope\"");
  EXPECT_EQ(call("tcpSocket: {port: 70000}").error().message, "invalid port number: 70000");
}

TEST(HandlerCall, ReadsAnHttpStatus) {
  struct Case {
    const char* received;
    int status;  // -1: not yet
  };
  const Case cases[] = {{"", -1},
                        {"HTTP/1.1 20", -1},
                        {"HTTP/1.1 200 OK\r\n", 200},
                        {"HTTP/1.0 503\r\nX", 503},
                        {"SSH-2.0-x\r\n", 0},
                        {"SSH", 0},
                        {"HTTP/1.1 2x0 OK\r\n", 0}};
  for (const Case& each : cases)
    EXPECT_EQ(http_status(each.received).value_or(-1), each.status) << each.received;
}

TEST(HandlerCall, EventsCarryValidText) {
  EXPECT_EQ(event_text("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(event_text("a\xff\xfe"), "a??");
  EXPECT_EQ(event_text(std::string(1023, 'x') + "\xc3\xa9").size(), 1023u);
}

std::string frame(char type, char flags, std::string_view payload) {
  std::string out{'\0', '\0', static_cast<char>(payload.size()), type, flags, 0, 0, 0, 1};
  return out += payload;
}

TEST(GrpcHealth, ReadsTheAnswer) {
  const std::string settings = frame(4, 0, ""), headers = frame(1, 4, "whatever");
  const auto message = [&](char status) {
    return frame(0, 0, std::string{0, 0, 0, 0, 2, 8, status});
  };
  using Result = HandlerOutcome::Result;
  const std::string good = settings + headers + message(1);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(grpc_health_outcome(good.substr(0, size))) << size;
  EXPECT_EQ(grpc_health_outcome(good)->result, Result::Good);
  EXPECT_EQ(grpc_health_outcome(settings + headers + message(2))->text,
            "service unhealthy (responded with \"NOT_SERVING\")");
  EXPECT_EQ(grpc_health_outcome(frame(1, 5, "trailers only"))->result, Result::Bad);
  EXPECT_EQ(grpc_health_outcome(frame(7, 0, ""))->result, Result::Bad);
  EXPECT_EQ(grpc_health_outcome("HTTP/1.1 400 Bad Request\r\n")->result, Result::Bad);
}

TEST(GrpcHealth, AsksInHttp2) {
  HandlerCall call;
  call.host = "10.0.0.7";
  call.port = 5000;
  call.service = std::string(200, 's');
  const std::string request = grpc_health_request(call);
  EXPECT_TRUE(request.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  EXPECT_NE(request.find("/grpc.health.v1.Health/Check"), std::string::npos);
  EXPECT_TRUE(request.ends_with("\x0a\xc8\x01" + call.service));
}

TEST(PodStorage, Limits) {
  const Json pod = yaml(R"(
spec:
  volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}, {name: m, emptyDir: {medium: Memory, sizeLimit: 1}},
            {name: free, emptyDir: {}}]
  containers: [{name: a, resources: {limits: {ephemeral-storage: 2Mi}}},
               {name: b, resources: {limits: {ephemeral-storage: 1Gi}}}]
)");
  EXPECT_TRUE(has_storage_limit(pod));
  EXPECT_FALSE(
      has_storage_limit(yaml("spec: {volumes: [{name: v, emptyDir: {}}], containers: [{}]}")));
  constexpr uint64_t kMi = 1 << 20;
  const auto told = [&](PodUsage usage) { return storage_eviction(pod, usage).value_or(""); };
  EXPECT_EQ(told({{{"v", kMi}, {"m", 99}, {"free", 99 * kMi}}, {{"a", 2 * kMi}}}), "");
  EXPECT_EQ(told({{{"v", kMi + 1}}, {}}),
            "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");
  EXPECT_EQ(told({{}, {{"a", 3 * kMi}}}),
            "Container a exceeded its local ephemeral storage limit \"2Mi\". ");
  EXPECT_EQ(told({{{"free", 1026 * kMi}}, {{"b", kMi}}}),
            "Pod ephemeral local storage usage exceeds the total limit of containers 1026Mi. ");
}

}  // namespace
}  // namespace yard
