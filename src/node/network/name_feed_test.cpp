#include "node/network/name_feed.h"

#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "sim/api_harness.h"

namespace yard {
namespace {

// What a keeper would know.
class RecordingSink : public NameSink {
 public:
  void replace_names(const std::vector<std::string>& all,
                     const std::vector<std::string>& doors) override {
    records = {all.begin(), all.end()};
    forwards = {doors.begin(), doors.end()};
    ++replaced;
  }
  void change_names(const std::vector<std::string>& added, const std::vector<std::string>& removed,
                    const std::vector<std::string>& doors) override {
    for (const std::string& record : added)
      EXPECT_TRUE(records.insert(record).second) << record << " was known";
    for (const std::string& record : removed)
      EXPECT_EQ(records.erase(record), 1u) << record << " was not known";
    for (const std::string& door : doors) {
      // The first three words name the door; targets follow, or it is closed.
      std::string key =
          door.substr(0, door.find("P ") == std::string::npos ? door.size() : door.find("P ") + 1);
      std::erase_if(forwards, [&](const std::string& each) { return each.starts_with(key + " "); });
      if (key != door) forwards.insert(door);
    }
    ++changed;
  }
  std::set<std::string> records, forwards;
  int replaced = 0, changed = 0;
};

class NameFeedTest : public ::testing::Test {
 protected:
  NameFeedTest()
      : client_(
            *harness_.store, harness_.api->committer(), [this] { return harness_.api->kinds(); },
            "trainyard"),
        feed_(client_, harness_.loop, network_, sink_) {
    harness_.make_namespace("ns");
    feed_.start();
    settle();
  }
  void settle() { harness_.loop.advance(std::chrono::milliseconds(100)); }
  std::string post(const std::string& kind, const std::string& object) {
    const Answer made = harness_.call("POST", "/api/v1/namespaces/ns/" + kind, object);
    EXPECT_EQ(made.status, 201) << made.text;
    settle();
    return std::string(text_at(made.json, {"metadata", "uid"}));
  }
  std::string pod(const std::string& name) {
    return post("pods", R"({"metadata":{"name":")" + name +
                            R"(","labels":{"job":"ring","index":")" + name +
                            R"("}},"spec":{"hostname":")" + name +
                            R"(","subdomain":"ring","containers":[{"name":"c","image":"i"}]}})");
  }
  std::set<std::string> own_records() const {
    std::set<std::string> out;
    for (const std::string& record : sink_.records) {
      if (record.find("ring") != std::string::npos) out.insert(record);
    }
    return out;
  }

  ApiHarness harness_;
  DirectClient client_;
  SharedNetwork network_;
  RecordingSink sink_;
  NameFeed feed_;
};

constexpr const char* kHeadless =
    R"({"metadata":{"name":"ring"},"spec":{"clusterIP":"None","selector":{"job":"ring"}}})";

TEST_F(NameFeedTest, APeerIsKnownAsSoonAsItHasAnAddress) {
  post("services", kHeadless);
  const std::string uid = pod("a");
  EXPECT_EQ(own_records(), std::set<std::string>{}) << "not bound";
  const std::string address = network_.address_for(uid, "");
  bool asked = false;
  network_.prepare_start(uid, address, [&](const Result<PodNamespaces>& ready) {
    asked = true;
    EXPECT_TRUE(ready);
    EXPECT_EQ(own_records(), (std::set<std::string>{"ring.ns.svc.cluster.local A " + address,
                                                    "a.ring.ns.svc.cluster.local A " + address,
                                                    address + " PTR a.ring.ns.svc.cluster.local"}))
        << "told before the start, not some time after";
  });
  EXPECT_TRUE(asked);
}

TEST_F(NameFeedTest, NamesFollowServicesAndPods) {
  const std::string uid = pod("a");
  const std::string address = network_.address_for(uid, "");
  post("services", kHeadless);
  EXPECT_EQ(own_records().size(), 3u) << "a service made later finds its pods";
  pod("b");
  EXPECT_EQ(own_records().size(), 3u) << "b is not bound";
  const int before = sink_.changed;
  harness_.call("PATCH", "/api/v1/namespaces/ns/services/ring",
                R"({"metadata":{"labels":{"x":"y"}}})",
                {{"Content-Type", "application/merge-patch+json"}});
  settle();
  EXPECT_EQ(sink_.changed, before) << "nothing that DNS says has changed";
  harness_.call("PATCH", "/api/v1/namespaces/ns/pods/a", R"({"metadata":{"labels":{"job":"no"}}})",
                {{"Content-Type", "application/merge-patch+json"}});
  settle();
  EXPECT_EQ(own_records(), std::set<std::string>{}) << "its labels no longer match";
  harness_.call("PATCH", "/api/v1/namespaces/ns/pods/a",
                R"({"metadata":{"labels":{"job":"ring"}}})",
                {{"Content-Type", "application/merge-patch+json"}});
  settle();
  EXPECT_EQ(own_records().size(), 3u);
  harness_.call("DELETE", "/api/v1/namespaces/ns/services/ring", "");
  settle();
  EXPECT_EQ(own_records(), std::set<std::string>{});
}

TEST_F(NameFeedTest, AKeeperThatBeginsAnewIsToldAll) {
  post("services", kHeadless);
  network_.address_for(pod("a"), "");
  feed_.tell_changes();
  const std::set<std::string> known = sink_.records;
  sink_.records.clear();
  feed_.tell_all();
  EXPECT_EQ(sink_.records, known);
  EXPECT_EQ(sink_.replaced, 2);
}

TEST_F(NameFeedTest, EndpointsWrittenByHandAreForwardedTo) {
  post(
      "services",
      R"({"metadata":{"name":"ring"},"spec":{"clusterIP":"10.96.7.7","ports":[{"name":"http","port":80}]}})");
  EXPECT_EQ(sink_.forwards, std::set<std::string>{});
  post(
      "endpoints",
      R"({"metadata":{"name":"ring"},"subsets":[{"addresses":[{"ip":"192.0.2.1"}],"ports":[{"name":"http","port":8080}]}]})");
  EXPECT_EQ(sink_.forwards, std::set<std::string>{"10.96.7.7 80 TCP 192.0.2.1:8080"});
  harness_.call("DELETE", "/api/v1/namespaces/ns/endpoints/ring", "");
  settle();
  EXPECT_EQ(sink_.forwards, std::set<std::string>{});
}

}  // namespace
}  // namespace yard
