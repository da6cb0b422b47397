#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/fields/fields_testing.h"

namespace yard {
namespace {

using namespace fields_testing;

struct CreateCase {
  const char* about;
  const char* schema;
  const char* object;
  const char* fields;
};

TEST(TrackCreate, OwnsWhatWasWritten) {
  const CreateCase cases[] = {
      {"an object with only a name has no entries", "core.v1.ConfigMap",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"d","uid":"u"}})",
       "none"},
      {"maps that appear are owned themselves, metadata is not", "core.v1.ConfigMap",
       R"({"metadata":{"name":"a","labels":{"x":"1"}},"data":{"b":"","a":"1"}})",
       R"({"f:data":{".":{},"f:a":{},"f:b":{}},"f:metadata":{"f:labels":{".":{},"f:x":{}}}})"},
      {"a pod as kubectl run makes it: structs that are no pointers carry no dot, containers "
       "neither",
       "core.v1.Pod",
       R"({"metadata":{"name":"nginx","labels":{"run":"nginx"}},"spec":{"containers":[{"name":"nginx",
           "image":"nginx","imagePullPolicy":"Always","resources":{},"terminationMessagePath":"/dev/termination-log",
           "terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","enableServiceLinks":true,
           "restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},
           "terminationGracePeriodSeconds":30},"status":{}})",
       R"({"f:metadata":{"f:labels":{".":{},"f:run":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"nginx\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}})"},
      {"inside a new container everything is new, and resources are there though unwritten",
       "core.v1.Pod",
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
           "ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"path":"/","port":80}}},
           {"name":"d","resources":{"limits":{"cpu":"1"}}}],"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"N\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:livenessProbe":{".":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}},"k:{\"name\":\"d\"}":{".":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}},"f:volumes":{".":{},"k:{\"name\":\"v\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}})"},
      {"zeros that omitempty drops are not owned, pointers to zero are", "core.v1.Pod",
       R"({"metadata":{"name":"p","labels":{}},"spec":{"hostNetwork":false,"priority":0}})",
       R"({"f:spec":{"f:priority":{}}})"},
      {"a deployment's strategy is no pointer, its rollingUpdate is; the selector is one leaf",
       "apps.v1.Deployment",
       R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"x"}},
           "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}},
           "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c"}]}}},"status":{}})",
       R"({"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:resources":{}}}}}}})"},
      {"service ports are keyed by port and protocol, the selector is one leaf", "core.v1.Service",
       R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80,"protocol":"UDP","targetPort":80}],"selector":{"a":"b"},"type":"ClusterIP"},"status":{"loadBalancer":{}}})",
       R"({"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},"f:selector":{},"f:type":{}}})"},
      {"finalizers are a set, owner references are keyed by uid and whole", "core.v1.ConfigMap",
       R"({"metadata":{"name":"a","generateName":"a-","finalizers":["b/c"],"ownerReferences":[{"uid":"u1","name":"n","kind":"Job","apiVersion":"batch/v1"}]}})",
       R"({"f:metadata":{"f:finalizers":{".":{},"v:\"b/c\"":{}},"f:generateName":{},"f:ownerReferences":{".":{},"k:{\"uid\":\"u1\"}":{}}}})"},
  };
  for (const CreateCase& c : cases) {
    Json object = json(c.object);
    track_update(nullptr, object, built_in(c.schema), writer("m", "v1"));
    EXPECT_EQ(owned(object, "m"), c.fields) << c.about;
  }
}

TEST(TrackCreate, WritesEntriesAsUpstreamDoes) {
  Json object = json(R"({"metadata":{"name":"a"},"data":{"a":"1"}})");
  track_update(nullptr, object, built_in("core.v1.ConfigMap"), writer("m", "v1", 1700000000));
  EXPECT_EQ(
      to_text(*find_path(object, {"metadata", "managedFields"})),
      R"([{"manager":"m","operation":"Update","apiVersion":"v1","time":"2023-11-14T22:13:20Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{}}}}])");
}

// Steps 1 to 3 of appendix C.2.
TEST(TrackUpdate, FollowsTheWidgetVectors) {
  Json object = json(
      R"({"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w1"},"spec":{"name":"n","ports":[{"p":1,"q":"z"}],"free":{"x":1},"tags":["a"],"replicas":1}})");
  track_update(nullptr, object, widget_schema(), writer("oracle", "ex.io/v1"));
  EXPECT_EQ(
      owned(object, "oracle"),
      R"({"f:spec":{".":{},"f:free":{".":{},"f:x":{}},"f:name":{},"f:ports":{".":{},"k:{\"p\":1}":{".":{},"f:p":{},"f:q":{}}},"f:replicas":{},"f:tags":{".":{},"v:\"a\"":{}}}})");

  Json scaled = object;
  scaled.at("spec").as_object()["replicas"] = 3;
  track_update(&object, scaled, widget_schema(), writer("oracle", "ex.io/v1", 1001, "scale"));
  EXPECT_EQ(owned(scaled, "oracle", "Update", "scale"), R"({"f:spec":{"f:replicas":{}}})");
  EXPECT_EQ(
      owned(scaled, "oracle"),
      R"({"f:spec":{".":{},"f:free":{".":{},"f:x":{}},"f:name":{},"f:ports":{".":{},"k:{\"p\":1}":{".":{},"f:p":{},"f:q":{}}},"f:tags":{".":{},"v:\"a\"":{}}}})");

  Json reported = scaled;
  reported.as_object()["status"] =
      json(R"({"replicas":7,"conditions":[{"type":"A"},{"type":"B"}]})");
  track_update(&scaled, reported, widget_schema(), writer("oracle", "ex.io/v1", 1002, "status"));
  EXPECT_EQ(owned(reported, "oracle", "Update", "status"),
            R"({"f:status":{".":{},"f:conditions":{},"f:replicas":{}}})");
}

struct UpdateCase {
  const char* about;
  const char* live;  // its data and managedFields
  const char* next;
  const char* owners;
};

constexpr const char* kLive =
    R"({"metadata":{"name":"a","uid":"u","managedFields":[)"
    R"({"manager":"x","operation":"Apply","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}},)"
    R"({"manager":"y","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{},"f:b":{}}}}]},"data":{"a":"1","b":"2"}})";

TEST(TrackUpdate, MovesOwnershipWithTheValues) {
  const UpdateCase cases[] = {
      {"nothing changes, nothing moves", kLive,
       R"({"metadata":{"name":"a"},"data":{"a":"1","b":"2"}})",
       "x Apply: {\"f:data\":{\"f:a\":{}}}\ny Update: "
       "{\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}"},
      {"a changed value leaves all others; emptied entries go", kLive,
       R"({"metadata":{"name":"a"},"data":{"a":"9","b":"2"}})",
       "y Update: {\"f:data\":{\".\":{},\"f:b\":{}}}\nme Update: {\"f:data\":{\"f:a\":{}}}"},
      {"a removed value leaves everyone and makes no new entry", kLive,
       R"({"metadata":{"name":"a"},"data":{"b":"2"}})",
       "y Update: {\"f:data\":{\".\":{},\"f:b\":{}}}"},
      {"a removed map takes its own path along", kLive, R"({"metadata":{"name":"a"}})", "none"},
      {"an added key beside others takes no dot", kLive,
       R"({"metadata":{"name":"a"},"data":{"a":"1","b":"2","c":"3"}})",
       "x Apply: {\"f:data\":{\"f:a\":{}}}\ny Update: "
       "{\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}\nme Update: {\"f:data\":{\"f:c\":{}}}"},
      {"an empty list of entries resets tracking", kLive,
       R"({"metadata":{"name":"a","managedFields":[]},"data":{"a":"9","b":"2"}})", "none"},
      {"so does a list with one empty entry", kLive,
       R"({"metadata":{"name":"a","managedFields":[{}]},"data":{"a":"9","b":"2"}})", "none"},
      {"an invalid list counts as none: the live one stays", kLive,
       R"({"metadata":{"name":"a","managedFields":[{"manager":"z","operation":"Steal","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}]},"data":{"a":"1","b":"2"}})",
       "x Apply: {\"f:data\":{\"f:a\":{}}}\ny Update: "
       "{\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}"},
      {"keys that are no FieldsV1 make the list invalid", kLive,
       R"({"metadata":{"name":"a","managedFields":[{"manager":"z","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"k:{":{}}}]},"data":{"a":"1","b":"2"}})",
       "x Apply: {\"f:data\":{\"f:a\":{}}}\ny Update: "
       "{\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}"},
      {"a valid list replaces the live one", kLive,
       R"({"metadata":{"name":"a","managedFields":[{"manager":"z","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}}}]},"data":{"a":"1","b":"2"}})",
       "z Apply: {\"f:data\":{\"f:b\":{}}}"},
      {"an object that was never tracked stays so",
       R"({"metadata":{"name":"a","uid":"u"},"data":{"a":"1"}})",
       R"({"metadata":{"name":"a"},"data":{"a":"2"}})", "none"},
  };
  for (const UpdateCase& c : cases) {
    const Json live = json(c.live);
    Json next = json(c.next);
    track_update(&live, next, built_in("core.v1.ConfigMap"), writer("me", "v1", 1700000000));
    EXPECT_EQ(owners(next), c.owners) << c.about;
  }
}

TEST(TrackUpdate, KeepsTimesOnANoOpAndRefreshesThemOnAChange) {
  Json live = json(R"({"metadata":{"name":"a"},"data":{"a":"1"}})");
  const Schema& schema = built_in("core.v1.ConfigMap");
  track_update(nullptr, live, schema, writer("me", "v1", 1000));
  const std::string before = to_text(live);

  Json same = json(R"({"metadata":{"name":"a"},"data":{"a":"1"}})");
  track_update(&live, same, schema, writer("me", "v1", 2000));
  EXPECT_EQ(to_text(same), before);

  Json other_time = live;
  other_time.at("metadata").at("managedFields").at(0).as_object()["time"] = "2021-01-01T00:00:00Z";
  track_update(&live, other_time, schema, writer("me", "v1", 2000));
  EXPECT_EQ(to_text(other_time), before);

  Json changed = live;
  changed.at("data").as_object()["a"] = "2";
  track_update(&live, changed, schema, writer("me", "v1", 2000));
  EXPECT_EQ(text_at(changed.at("metadata").at("managedFields").at(0), {"time"}),
            "1970-01-01T00:33:20Z");
}

TEST(TrackUpdate, IgnoresRequestEntriesOnSubresources) {
  const Json live = json(kLive);
  Json next = json(
      R"({"metadata":{"name":"a","managedFields":[{}]},"data":{"a":"1","b":"2"},"binaryData":{"c":"AA=="}})");
  track_update(&live, next, built_in("core.v1.ConfigMap"),
               writer("me", "v1", 1700000000, "status"));
  EXPECT_EQ(owned(next, "x", "Apply"), R"({"f:data":{"f:a":{}}})");
  EXPECT_EQ(owned(next, "me", "Update", "status"), R"({"f:binaryData":{".":{},"f:c":{}}})");
}

TEST(TrackUpdate, MergesTheOldestOfMoreThanTenUpdateEntries) {
  const Schema& schema = built_in("core.v1.ConfigMap");
  Json object = json(R"({"metadata":{"name":"a"},"data":{"start":"1"}})");
  track_update(nullptr, object, schema, writer("m0", "v1", 1000));
  for (int i = 1; i <= 12; ++i) {
    Json next = object;
    next.at("data").as_object()["k" + std::to_string(i)] = "1";
    track_update(&object, next, schema, writer("m" + std::to_string(i), "v1", 1000 + i));
    object = next;
  }
  EXPECT_EQ(find_path(object, {"metadata", "managedFields"})->get_array().size(), 10u);
  EXPECT_EQ(owned(object, "ancient-changes"),
            R"({"f:data":{".":{},"f:k1":{},"f:k2":{},"f:k3":{},"f:start":{}}})");
  EXPECT_EQ(owned(object, "m4"), R"({"f:data":{"f:k4":{}}})");
}

TEST(TrackUpdate, ItemsOfOneNameAreOwnedTogether) {
  const Schema& schema = built_in("core.v1.Pod");
  Json one = json(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"1"}]}]}})");
  track_update(nullptr, one, schema, writer("m", "v1", 1000));
  Json two = one;
  two.at("spec").at("containers").at(0).as_object()["env"] =
      json(R"([{"name":"A","value":"1"},{"name":"A","value":"2"}])");
  track_update(&one, two, schema, writer("n", "v1", 1001));
  EXPECT_EQ(
      owned(two, "n"),
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:env":{"k:{\"name\":\"A\"}":{}}}}}})");
}

TEST(TrackUpdate, OnASubresourceTheEntriesOfARequestCountForNothing) {
  const Json live = json(kLive), untracked = json(R"({"metadata":{}})");
  const Schema& schema = built_in("core.v1.ConfigMap");
  const FieldWriter of_status = writer("s", "v1", 1001, "status");
  for (const char* brought : {"[{}]", "[]", R"([{"manager":"thief"}])"}) {
    Json next = live;
    next.at("metadata").as_object()["managedFields"] = json(brought);
    track_update(&live, next, schema, of_status);
    EXPECT_EQ(owners(next), owners(live)) << brought;
    Json none = untracked;
    none.at("metadata").as_object()["managedFields"] = json(brought);
    track_update(&untracked, none, schema, of_status);
    EXPECT_EQ(owners(none), "none") << brought;
  }
}

TEST(NewTimes, AreNoChangeWhereNothingElseIsOne) {
  const auto object = [](std::string_view manager, int second, std::string_view value) {
    return json(fmt::format(
        R"({{"metadata":{{"managedFields":[{{"manager":"{}","time":"2026-01-01T00:00:0{}Z"}}]}},"data":{{"a":"{}"}}}})",
        manager, second, value));
  };
  const Json live = object("m", 1, "x");
  struct Case {
    const char* about;
    Json next;
    bool keeps_the_old;
  };
  const Case cases[] = {
      {"nothing at all", object("m", 1, "x"), true},
      {"only a time", object("m", 2, "x"), true},
      {"a value too", object("m", 2, "y"), false},
      {"an owner too", object("n", 2, "x"), false},
      {"an object without entries", json(R"({"metadata":{},"data":{"a":"x"}})"), false},
  };
  for (const Case& each : cases) {
    Json next = each.next;
    ignore_new_times(live, next);
    EXPECT_TRUE(equal(next, each.keeps_the_old ? live : each.next)) << each.about;
  }
}

}  // namespace
}  // namespace yard
