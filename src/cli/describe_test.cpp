#include "cli/describe.h"

#include <gtest/gtest.h>

#include "cli/fake_connection.h"

namespace yard {
namespace {

const Time kNow = *parse_rfc3339("2026-01-01T01:00:00Z");

TEST(Describe, AJobWithAllThereIsToSay) {
  const Json job = json(R"({"apiVersion":"batch/v1","kind":"Job",
    "metadata":{"name":"train","namespace":"default","uid":"u1","creationTimestamp":"2026-01-01T00:55:00Z",
      "labels":{"b":"2","a":"1"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","note":"x"},
      "ownerReferences":[{"kind":"CronJob","name":"nightly","controller":true}],"managedFields":[{"manager":"m"}]},
    "spec":{"suspend":true,"parallelism":2,"template":{"metadata":{"creationTimestamp":null},
      "spec":{"containers":[{"name":"c","image":"i","resources":{},"terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst"}}},
    "status":{"active":1,"conditions":[{"type":"Suspended","status":"True","reason":"JobSuspended","message":"Job suspended",
      "lastTransitionTime":"2026-01-01T00:58:00Z"}]}})");
  const Json events = json(R"([
    {"type":"Warning","reason":"Late","message":"second\nline","lastTimestamp":"2026-01-01T00:59:30Z","firstTimestamp":"2026-01-01T00:56:00Z",
     "count":3,"source":{"component":"job-controller"}},
    {"type":"Normal","reason":"Suspended","message":"Job suspended","eventTime":"2026-01-01T00:58:00.000000Z","reportingComponent":"job-controller"}])");
  EXPECT_EQ(description(job, events.get_array(), kNow),
            "Name:         train\n"
            "Namespace:    default\n"
            "Kind:         Job (batch/v1)\n"
            "Created:      2026-01-01T00:55:00Z (5m ago)\n"
            "Owner:        CronJob/nightly (controller)\n"
            "Labels:       a=1\n"
            "              b=2\n"
            "Annotations:  note=x\n"
            "Spec:\n"
            "  parallelism: 2\n"
            "  suspend: true\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - image: i\n"
            "        name: c\n"
            "Status:\n"
            "  active: 1\n"
            "Conditions:\n"
            "  TYPE       STATUS  AGE  REASON        MESSAGE\n"
            "  Suspended  True    2m   JobSuspended  Job suspended\n"
            "Events:\n"
            "  TYPE     REASON     AGE             FROM            MESSAGE\n"
            "  Normal   Suspended  2m              job-controller  Job suspended\n"
            "  Warning  Late       30s (x3 in 4m)  job-controller  second line\n");
}

TEST(Describe, ASecretKeepsItsValues) {
  const std::string text = description(
      json(
          R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"type":"Opaque",
               "data":{"password":"aHVudGVyMg=="}})"),
      {}, kNow);
  EXPECT_EQ(
      text,
      "Name:         s\nNamespace:    default\nKind:         Secret (v1)\nLabels:       <none>\n"
      "Annotations:  <none>\nType:         Opaque\nData:\n  password: 7 bytes\nEvents:       "
      "<none>\n");
}

TEST(Describe, CommandAsksForEventsByUid) {
  FakeSession fake;
  add_discovery(fake.connection);
  fake.connection.replies["GET /api/v1/namespaces/n"] = {
      200, {}, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","uid":"u 1"}})"};
  fake.connection.replies["GET /api/v1/events?fieldSelector=involvedObject.uid%3Du%201&limit=500"] =
      {200, {}, R"({"items":[{"type":"Normal","reason":"Made"}]})"};
  EXPECT_EQ(run_describe(fake.session, {.words = {"ns", "n"}, .label_selector = ""}), kOk);
  EXPECT_NE(fake.out.str().find("Normal  Made    <unknown>\n"), std::string::npos)
      << fake.out.str();
  EXPECT_EQ(run_describe(fake.session, {.words = {"ns/ghost"}, .label_selector = ""}), kNotFound);
}

}  // namespace
}  // namespace yard
