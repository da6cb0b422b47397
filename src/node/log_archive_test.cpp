#include "node/log_archive.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apiserver/direct_client.h"
#include "node/files.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

TEST(LogLayout, FolderNamesAreReadBack) {
  const auto folder = parse_log_folder_name(log_folder_name("ns", "a.b-0", "u-1"));
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->ns + " " + folder->pod + " " + folder->uid, "ns a.b-0 u-1");
  for (const char* other : {"", "a_b", "a_b_c_d", "__", "a__c", "lost+found"})
    EXPECT_FALSE(parse_log_folder_name(other)) << other;
}

TEST(LogLayout, ALongNameStillFitsAFile) {
  const std::string ns(63, 'n'), pod(253, 'p'), uid(36, 'u');
  const std::string name = log_folder_name(ns, pod, uid);
  EXPECT_EQ(name.size(), 255u);
  const auto folder = parse_log_folder_name(name);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->ns + "_" + folder->uid, ns + "_" + uid) << "what tells it from others is whole";
}

TEST(LogLayout, SaysWhatThePodWas) {
  const Json pod = yaml(R"(
metadata: {name: p, namespace: ns, uid: u, labels: {job: j}, creationTimestamp: '2024-01-01T00:00:00Z',
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: w},
                    {apiVersion: batch/v1, kind: Job, name: j, uid: v, controller: true}]}
spec: {nodeName: box, initContainers: [{name: i}], containers: [{name: c}]}
)");
  EXPECT_EQ(
      pod_about_text(pod, "box"),
      R"({"namespace":"ns","pod":"p","uid":"u","created":"2024-01-01T00:00:00Z","node":"box",)"
      R"("labels":{"job":"j"},"owner":{"apiVersion":"batch/v1","kind":"Job","name":"j",)"
      R"("uid":"v"},"containers":["i","c"]})");
}

class LogArchiveTest : public ::testing::Test {
 protected:
  LogArchiveTest()
      : client_(
            *harness_.store, harness_.api->committer(), [this] { return harness_.api->kinds(); },
            "trainyard") {
    harness_.make_namespace("ns");
    char name[] = "/tmp/yard-logs-XXXXXX";
    folder_ = mkdtemp(name);
    restart();
  }
  ~LogArchiveTest() override {
    archive_.reset();
    std::filesystem::remove_all(folder_);
  }
  void restart(LogBounds bounds = {}) {
    archive_.reset();
    archive_ = std::make_unique<LogArchive>(client_, harness_.loop, folder_, bounds);
    archive_->start();
    settle();
  }
  void settle() { harness_.loop.advance(std::chrono::milliseconds(200)); }
  // What a pod's run has left; answers its folder.
  std::string leave_logs(const std::string& pod, const std::string& uid, const Json& about) {
    const std::string path = folder_ + "/" + log_folder_name("ns", pod, uid);
    std::filesystem::create_directories(path + "/c");
    EXPECT_TRUE(write_text(path + "/pod.json", pod_about_text(about, "box"), 0600));
    EXPECT_TRUE(write_text(path + "/c/0.log", "x\n", 0600));
    return path;
  }
  Json create(const std::string& path, const std::string& body) {
    const Answer made = harness_.call("POST", path, body);
    EXPECT_EQ(made.status, 201) << made.text;
    return made.json;
  }
  std::string uid_of(const Json& object) {
    return std::string(text_at(object, {"metadata", "uid"}));
  }

  ApiHarness harness_;
  DirectClient client_;
  std::string folder_;
  std::unique_ptr<LogArchive> archive_;
};

constexpr const char* kPods = "/api/v1/namespaces/ns/pods";
constexpr const char* kMaps = "/api/v1/namespaces/ns/configmaps";

TEST_F(LogArchiveTest, LogsStayWhileTheOwnerIsThereAndADayMore) {
  // Any kind can own a pod.
  const std::string owner = uid_of(create(kMaps, R"({"metadata":{"name":"job"}})"));
  const Json pod = create(
      kPods, R"({"metadata":{"name":"p","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap",
                "name":"job","uid":")" +
                 owner + R"(","controller":true}]},
                "spec":{"automountServiceAccountToken":false,
                        "containers":[{"name":"c","image":"i"}]}})");
  const std::string logs = leave_logs("p", uid_of(pod), pod);
  EXPECT_FALSE(archive_->find("ns", "p")) << "it is still there";
  harness_.call("DELETE", std::string(kPods) + "/p");
  settle();
  ASSERT_TRUE(archive_->find("ns", "p"));
  harness_.loop.advance(std::chrono::hours(24 * 30));
  EXPECT_TRUE(std::filesystem::exists(logs)) << "its job lives";
  restart();
  harness_.call("DELETE", std::string(kMaps) + "/job");
  settle();
  harness_.loop.advance(std::chrono::hours(23));
  EXPECT_TRUE(archive_->find("ns", "p"));
  restart();
  harness_.loop.advance(std::chrono::minutes(59));
  EXPECT_TRUE(std::filesystem::exists(logs)) << "a restart begins no new day, nor ends one";
  harness_.loop.advance(std::chrono::minutes(2));
  EXPECT_FALSE(std::filesystem::exists(logs));
  EXPECT_FALSE(archive_->find("ns", "p"));
  EXPECT_EQ(archive_->size(), 0u);
}

TEST_F(LogArchiveTest, APodWithoutOwnerLeavesItsLogsForADay) {
  const std::string logs = leave_logs("q", "u", yaml("metadata: {name: q, namespace: ns, uid: u}"));
  restart();
  EXPECT_EQ(archive_->find("ns", "q")->uid, "u");
  harness_.loop.advance(std::chrono::hours(25));
  EXPECT_FALSE(std::filesystem::exists(logs));
}

TEST_F(LogArchiveTest, AllTogetherStayWithinABound) {
  const std::string owner = uid_of(create(kMaps, R"({"metadata":{"name":"job"}})"));
  const auto owned = [&](const std::string& uid) {
    return yaml("metadata: {name: mine, namespace: ns, uid: " + uid +
                ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: job, uid: " + owner +
                ", controller: true}]}");
  };
  std::vector<std::string> folders;
  for (const char* uid : {"u1", "u2", "u3"}) {
    const bool is_owned = std::string_view(uid) == "u1";  // the oldest, but its job is there
    const std::string name = is_owned ? "mine" : std::string("p-") + uid;
    folders.push_back(leave_logs(
        name, uid,
        is_owned ? owned(uid)
                 : yaml("metadata: {name: " + name + ", namespace: ns, uid: " + uid + "}")));
    EXPECT_TRUE(write_text(folders.back() + "/c/0.log", std::string(200'000, 'x'), 0600));
    std::filesystem::last_write_time(folders.back(),
                                     std::filesystem::file_time_type::clock::now() -
                                         std::chrono::hours(10 - static_cast<int>(folders.size())));
  }
  const auto left = [&] {
    std::string out;
    for (const std::string& folder : folders)
      out += std::filesystem::exists(folder) ? '+' : '-';
    return out;
  };
  restart({std::chrono::hours(24), 700'000});
  EXPECT_EQ(left(), "+++");
  restart({std::chrono::hours(24), 500'000});
  EXPECT_EQ(left(), "+-+") << "the oldest whose job is gone";
  restart({std::chrono::hours(24), 100'000});
  EXPECT_EQ(left(), "---") << "in the end also those of a job that is there";
  EXPECT_EQ(archive_->size(), 0u);
}

TEST_F(LogArchiveTest, OfOneNameTheNewestIsFound) {
  for (const char* uid : {"u1", "u2", "u3"}) {
    const Json pod = create(kPods, R"({"metadata":{"name":"p"},"spec":{
        "automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}})");
    leave_logs("p", uid_of(pod), pod);
    harness_.call("DELETE", std::string(kPods) + "/p");
    settle();
    EXPECT_EQ(archive_->find("ns", "p")->uid, uid_of(pod)) << uid;
  }
  EXPECT_EQ(archive_->size(), 3u);
}

TEST_F(LogArchiveTest, WhatIsNoPodIsLeftAlone) {
  std::filesystem::create_directories(folder_ + "/lost+found");
  restart();
  harness_.loop.advance(std::chrono::hours(100));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/lost+found"));
}

}  // namespace
}  // namespace yard
