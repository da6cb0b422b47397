#include "controllers/storage/storage_controller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "sim/api_harness.h"
#include "testing/objects.h"

namespace yard {
namespace {

using namespace std::chrono_literals;
const std::string kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
const std::string kVolumes = "/api/v1/persistentvolumes";

// A disk that is a set of names and fails when told to.
struct SimVolumeFolders : VolumeFolders {
  struct Disk {
    std::set<std::string> folders;
    bool fails = false;
  };
  SimVolumeFolders(Loop& with_loop, Disk& with_disk) : loop(with_loop), disk(with_disk) {}
  const std::string& path() const override { return where; }
  void make(std::string name, std::function<void(Result<void>)> done) override {
    loop.post([&there = disk, name, done] {
      if (there.fails) return done(error(Reason::InternalError, "the disk is full"));
      there.folders.insert(name);
      done({});
    });
  }
  void remove(std::string name, std::function<void(Result<void>)> done) override {
    loop.post([&there = disk, name, done] {
      there.folders.erase(name);
      done({});
    });
  }
  Loop& loop;
  Disk& disk;
  std::string where = "/volumes";
};

class StorageControllerTest : public testing::Test {
 protected:
  StorageControllerTest() {
    yard.make_namespace("default");
    create("/apis/storage.k8s.io/v1/storageclasses",
           "{metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "
           "'true'}}, provisioner: trainyard.dev/local-folder}");
  }
  void create(const std::string& target, const std::string& text) {
    const Answer made = yard.call("POST", target, to_text(yaml(text)));
    ASSERT_EQ(made.status, 201) << made.text;
    yard.loop.advance(1s);
  }
  void create_claim(const std::string& spec, const std::string& name = "c") {
    create(kClaims, fmt::format("{{metadata: {{name: {}}}, spec: {{accessModes: [ReadWriteOnce], "
                                "resources: {{requests: {{storage: 1Gi}}}}{}}}}}",
                                name, spec.empty() ? "" : ", " + spec));
  }
  void create_volume(const std::string& name, const std::string& spec) {
    create(kVolumes,
           fmt::format("{{metadata: {{name: {}, labels: {{tier: fast}}}}, spec: {{accessModes: "
                       "[ReadWriteOnce], hostPath: {{path: /data}}, {}}}}}",
                       name, spec));
  }
  void remove(const std::string& target) {
    const Answer answer = yard.call("DELETE", target);
    ASSERT_EQ(answer.status, 200) << answer.text;
    yard.loop.advance(1s);
  }
  Json claim(const std::string& name = "c") {
    const ObjectPtr found = client.get(kClaimResource, "default", name);
    return found == nullptr ? Json() : found->tree();
  }
  std::string claim_state(const std::string& name = "c") {
    const Json tree = claim(name);
    return fmt::format("{} {}", text_at(tree, {"status", "phase"}),
                       text_at(tree, {"spec", "volumeName"}));
  }
  std::string volume_phase(const std::string& name) {
    const ObjectPtr found = client.get(kVolumeResource, "", name);
    if (found == nullptr) return "gone";
    const Json tree = found->tree();
    return std::string(text_at(tree, {"status", "phase"}));
  }
  std::string last_event() {
    std::string out;
    for (const ObjectPtr& object : client.list({"v1", "Event"}, "default")) {
      const Json event = object->tree();
      out = fmt::format("{} {}: {}", text_at(event, {"type"}), text_at(event, {"reason"}),
                        text_at(event, {"message"}));
    }
    return out;
  }

  ApiHarness yard;
  SimVolumeFolders::Disk disk;
  DirectClient client{*yard.store, yard.api->committer(), [this] { return yard.api->kinds(); },
                      "test"};
  StorageController controller{yard.loop, client,
                               std::make_unique<SimVolumeFolders>(yard.loop, disk)};
};

TEST_F(StorageControllerTest, AClaimGetsAFolderAndGivesItBack) {
  create_claim("");
  const std::string name = provisioned_name(claim());
  EXPECT_EQ(claim_state(), "Bound " + name);
  EXPECT_EQ(volume_phase(name), "Bound");
  EXPECT_EQ(disk.folders, std::set<std::string>{name});
  const Json tree = claim();
  EXPECT_EQ(text_at(tree, {"status", "capacity", "storage"}), "1Gi");
  EXPECT_EQ(last_event(), "Normal ProvisioningSucceeded: Successfully provisioned volume " + name);
  const Json volume = client.get(kVolumeResource, "", name)->tree();
  EXPECT_EQ(text_at(volume, {"spec", "hostPath", "path"}), "/volumes/" + name);
  EXPECT_EQ(text_at(volume, {"spec", "persistentVolumeReclaimPolicy"}), "Delete");
  remove(kClaims + "/c");
  EXPECT_TRUE(claim().is_null());
  EXPECT_EQ(volume_phase(name), "gone");
  EXPECT_TRUE(disk.folders.empty());
  EXPECT_TRUE(controller.is_idle());
}

TEST_F(StorageControllerTest, AClaimInUseStaysUntilItsPodEnds) {
  create_claim("");
  create("/api/v1/namespaces/default/pods",
         "{metadata: {name: p}, spec: {nodeName: here, containers: [{name: c, image: i}], volumes: "
         "[{name: v, persistentVolumeClaim: {claimName: c}}]}}");
  remove(kClaims + "/c");
  EXPECT_FALSE(claim().is_null());
  EXPECT_EQ(
      yard.patch("/api/v1/namespaces/default/pods/p/status", R"({"status":{"phase":"Succeeded"}})")
          .status,
      200);
  yard.loop.advance(1s);
  EXPECT_TRUE(claim().is_null());
  EXPECT_TRUE(disk.folders.empty());
}

TEST_F(StorageControllerTest, ADiskThatFailsIsTriedAgain) {
  disk.fails = true;
  create_claim("");
  EXPECT_EQ(claim_state(), "Pending ");
  EXPECT_EQ(last_event(),
            "Warning ProvisioningFailed: failed to provision volume with StorageClass \"local\": "
            "the disk is full");
  disk.fails = false;
  yard.loop.advance(1min);
  EXPECT_EQ(claim_state(), "Bound " + provisioned_name(claim()));
}

TEST_F(StorageControllerTest, WhatAClaimWaitsForIsTold) {
  const struct {
    const char* about;
    const char* spec;
    const char* told;
  } cases[] = {
      {"no class of that name", "storageClassName: gp2",
       "Warning ProvisioningFailed: storageclass.storage.k8s.io \"gp2\" not found"},
      {"no class and no volume", "storageClassName: ''",
       "Normal FailedBinding: no persistent volumes available for this claim and no storage class "
       "is set"},
      {"a volume that is not there", "volumeName: nope",
       "Warning FailedBinding: volume \"nope\" not found"},
      {"a selector is for volumes that are there", "selector: {matchLabels: {a: b}}",
       "Warning ProvisioningFailed: failed to provision volume with StorageClass \"local\": claim "
       "Selector is not supported"},
  };
  int number = 0;
  for (const auto& each : cases) {
    SCOPED_TRACE(each.about);
    const std::string name = fmt::format("c{}", ++number);
    create_claim(each.spec, name);
    EXPECT_TRUE(claim_state(name).starts_with("Pending"));
    EXPECT_EQ(last_event(), each.told);
  }
}

TEST_F(StorageControllerTest, AClaimTakesTheSmallestVolumeThatFits) {
  create_volume("big", "capacity: {storage: 5Gi}, storageClassName: manual");
  create_volume("small", "capacity: {storage: 100Mi}, storageClassName: manual");
  create_volume("right", "capacity: {storage: 2Gi}, storageClassName: manual");
  EXPECT_EQ(volume_phase("right"), "Available");
  create_claim("storageClassName: manual, selector: {matchLabels: {tier: fast}}");
  EXPECT_EQ(claim_state(), "Bound right");
  EXPECT_EQ(volume_phase("right"), "Bound");
  remove(kClaims + "/c");
  EXPECT_EQ(volume_phase("right"), "Released") << "Retain keeps it";
  create_claim("storageClassName: manual", "d");
  EXPECT_EQ(claim_state("d"), "Bound big");
}

TEST_F(StorageControllerTest, AVolumeKeptForAClaimIsThatClaims) {
  create_volume("kept",
                "capacity: {storage: 2Gi}, storageClassName: '', claimRef: {namespace: default, "
                "name: mine}");
  EXPECT_EQ(volume_phase("kept"), "Available");
  create_claim("storageClassName: ''", "other");
  EXPECT_EQ(claim_state("other"), "Pending ");
  create_claim("storageClassName: ''", "mine");
  EXPECT_EQ(claim_state("mine"), "Bound kept");
}

TEST_F(StorageControllerTest, AClaimMayWaitForItsFirstPod) {
  create("/apis/storage.k8s.io/v1/storageclasses",
         "{metadata: {name: late}, provisioner: trainyard.dev/local-folder, volumeBindingMode: "
         "WaitForFirstConsumer, reclaimPolicy: Retain}");
  create_claim("storageClassName: late");
  EXPECT_EQ(claim_state(), "Pending ");
  EXPECT_EQ(last_event(),
            "Normal WaitForFirstConsumer: waiting for first consumer to be created before binding");
  // As the scheduler does.
  yard.patch(kClaims + "/c",
             R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}})");
  yard.loop.advance(1s);
  const std::string name = provisioned_name(claim());
  EXPECT_EQ(claim_state(), "Bound " + name);
  remove(kClaims + "/c");
  EXPECT_EQ(volume_phase(name), "Released");
  EXPECT_EQ(disk.folders.size(), 1u) << "Retain keeps the folder";
}

TEST_F(StorageControllerTest, AVolumeThatIsTakenAwayLosesItsClaim) {
  create_volume("v", "capacity: {storage: 2Gi}, storageClassName: manual");
  create_claim("storageClassName: manual");
  remove(kVolumes + "/v");
  EXPECT_EQ(volume_phase("v"), "Bound") << "the claim protects it";
  remove(kClaims + "/c");
  EXPECT_EQ(volume_phase("v"), "gone");
}

// Whenever the server dies, each claim ends up with one volume and each volume with one folder.
TEST(StorageSim, ClaimsAndFoldersAgreeAfterCrashes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    ApiHarness yard(seed);
    SimVolumeFolders::Disk disk;
    std::unique_ptr<DirectClient> client;
    std::unique_ptr<StorageController> controller;
    const auto start = [&] {
      client = std::make_unique<DirectClient>(
          *yard.store, yard.api->committer(), [&] { return yard.api->kinds(); }, "test");
      controller = std::make_unique<StorageController>(
          yard.loop, *client, std::make_unique<SimVolumeFolders>(yard.loop, disk));
    };
    yard.make_namespace("default");
    yard.call("POST", "/apis/storage.k8s.io/v1/storageclasses",
              R"({"metadata":{"name":"local"},"provisioner":"trainyard.dev/local-folder"})");
    start();
    Random random(seed);
    for (int round = 0; round < 6; ++round) {
      const std::string name = fmt::format("c{}", round);
      yard.call("POST", kClaims,
                fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"storageClassName":"local",)"
                            R"("accessModes":["ReadWriteOnce"],"resources":{{"requests":)"
                            R"({{"storage":"1Gi"}}}}}}}})",
                            name));
      if (round % 2 == 1) yard.call("DELETE", kClaims + fmt::format("/c{}", round - 1));
      yard.loop.advance(std::chrono::microseconds(random.below(20'000)));
      controller.reset();
      client.reset();
      yard.crash();
      yard.start();
      start();
    }
    yard.loop.advance(2min);
    std::set<std::string> wanted;
    for (const ObjectPtr& claim : client->list(kClaimResource, "default")) {
      const Json tree = claim->tree();
      EXPECT_EQ(text_at(tree, {"status", "phase"}), "Bound") << name_of(tree);
      wanted.insert(std::string(text_at(tree, {"spec", "volumeName"})));
    }
    EXPECT_EQ(wanted.size(), 3u);
    std::set<std::string> volumes;
    for (const ObjectPtr& volume : client->list(kVolumeResource, ""))
      volumes.insert(std::string(volume->name()));
    EXPECT_EQ(volumes, wanted);
    for (const std::string& name : wanted)
      EXPECT_TRUE(disk.folders.contains(name)) << name;
  }
}

}  // namespace
}  // namespace yard
