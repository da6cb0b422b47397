// Random users against the real server, store and life-cycle controllers, with failed commits and
// crashes from a seed. While it runs: revisions only grow, and what goes in the foreground goes
// after what blocks it. Then the faults stop, finalizers are taken off, and everything must
// converge: nothing outlives its owners or its namespace, what was orphaned is still there, and a
// watcher that resumed over every crash has seen each change once and in order.

#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/tree.h"
#include "apiserver/direct_client.h"
#include "base/log.h"
#include "controllers/lifecycle/bootstrap.h"
#include "controllers/lifecycle/event_expiry.h"
#include "controllers/lifecycle/garbage_collector.h"
#include "controllers/lifecycle/namespaces.h"
#include "sim/api_harness.h"
#include "testing/seeds.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 200;
constexpr std::string_view kUnknownVersion = "nobody.io/v1";  // no kind of it is served
constexpr const char* kUserFinalizer = "sim.io/hold";

struct SimKind {
  Resource resource;
  const char *prefix, *plural;
};
const SimKind kKinds[] = {{{"v1", "ConfigMap"}, "/api/v1", "configmaps"},
                          {{"v1", "Pod"}, "/api/v1", "pods"},
                          {{"batch/v1", "Job"}, "/apis/batch/v1", "jobs"}};
const Resource kNamespace{"v1", "Namespace"};
const char* const kNamespaces[] = {"n0", "n1", "n2"};

std::vector<std::string> finalizers_of(const Object& object) {
  std::vector<std::string> out;
  if (!object.has_finalizers()) return out;
  const auto metadata = parse_json(object.metadata());
  for (const Json& item : list_at(metadata->value, {"finalizers"}))
    out.emplace_back(text_of(item));
  return out;
}

bool has_finalizer(const Object& object, std::string_view finalizer) {
  const auto list = finalizers_of(object);
  return std::ranges::find(list, finalizer) != list.end();
}

// A client's watch of all ConfigMaps over the lives of the server.
struct Watcher {
  struct Seen {
    Revision revision;
    std::string type;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  std::shared_ptr<SimStream> stream;
  Revision began = 0, reached = 0;
  std::vector<Seen> seen;

  void read() {
    if (stream == nullptr) return;
    for (const Json& event : stream->take_events()) {
      const std::string type(text_at(event, {"type"}));
      ASSERT_NE(type, "ERROR") << to_text(event);
      reached = *parse_uint64(text_at(event, {"object", "metadata", "resourceVersion"}));
      seen.push_back({reached, type});
    }
  }
};

// Holds the claims that must be true at every moment, from the store's own events.
class Checker {
 public:
  void hear(const Store& store, const StoreEvent& event) {
    EXPECT_GT(event.revision, revision_) << "revisions only grow";
    revision_ = event.revision;
    const Object& object = *event.object;
    const std::string uid(object.uid());
    if (event.type == StoreEvent::Type::Deleted) {
      gone_.insert(uid);
      check_foreground_order(store, object);
      return;
    }
    EXPECT_FALSE(gone_.contains(uid)) << object.name() << " came back under its old uid";
    note_new_owners(event);
    const bool begins_to_go =
        object.is_being_deleted() && !(event.previous && event.previous->is_being_deleted());
    if (!begins_to_go) return;
    going_since_.emplace(uid, event.revision);
    if (has_finalizer(object, kOrphanFinalizer)) note_orphans(store, object);
  }
  void namespace_goes(const std::string& ns) { lost_namespaces_.insert(ns); }
  // The user does something that may end it or give it other owners.
  void touched(const std::string& uid) {
    touched_.insert(uid);
    orphans_.erase(uid);
  }
  const std::map<std::string, std::string>& orphans() const { return orphans_; }
  bool is_lost(std::string_view ns) const { return lost_namespaces_.contains(ns); }
  Revision revision() const { return revision_; }

 private:
  void note_new_owners(const StoreEvent& event) {
    const auto before = event.previous ? event.previous->owners() : std::vector<OwnerRef>();
    for (const OwnerRef& owner : event.object->owners()) {
      const bool is_old = std::ranges::any_of(before, [&](const OwnerRef& other) {
        return other.uid == owner.uid && other.block_owner_deletion == owner.block_owner_deletion;
      });
      if (!is_old)
        owned_since_[{std::string(event.object->uid()), std::string(owner.uid)}] = event.revision;
    }
  }
  // A dependent that came after its owner began to go may have crossed with the decision, as
  // upstream.
  void check_foreground_order(const Store& store, const Object& owner) {
    if (!owner.is_being_deleted() || !has_finalizer(owner, kForegroundFinalizer) ||
        is_lost(owner.ns()))
      return;
    for (const auto& [key, dependent] : store.dependents(owner.uid())) {
      if (dependent->ns() != owner.ns()) continue;
      const auto since =
          owned_since_.find({std::string(dependent->uid()), std::string(owner.uid())});
      if (since == owned_since_.end() || since->second > going_since_[std::string(owner.uid())])
        continue;
      for (const OwnerRef& reference : dependent->owners()) {
        if (reference.uid != owner.uid() || reference.name != owner.name()) continue;
        if (reference.api_version == kUnknownVersion) continue;  // it leads elsewhere
        EXPECT_FALSE(reference.block_owner_deletion)
            << owner.name() << " went before " << dependent->name() << ", which blocks it";
      }
    }
  }
  void note_orphans(const Store& store, const Object& owner) {
    for (const auto& [key, dependent] : store.dependents(owner.uid())) {
      const auto owners = dependent->owners();
      if (owners.size() != 1 || owners[0].name != owner.name() || dependent->ns() != owner.ns())
        continue;
      if (dependent->is_being_deleted() || touched_.contains(dependent->uid())) continue;
      orphans_.emplace(dependent->uid(), dependent->ns());
    }
  }

  Revision revision_ = 0;
  std::set<std::string> gone_;
  std::map<std::pair<std::string, std::string>, Revision> owned_since_;  // (dependent, owner) uid
  std::map<std::string, Revision> going_since_;
  std::set<std::string, std::less<>> lost_namespaces_, touched_;
  std::map<std::string, std::string> orphans_;  // uid → namespace
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed * 7919), yard_(seed, SimLogFaults{.failed_commits_percent = 5}) {
    start();
  }
  ~Simulation() { stop(); }

  void run() {
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      act();
      yard_.loop.advance(Duration(static_cast<int64_t>(random_.below(8'000'000))));
      if (random_.below(20) == 0) yard_.loop.advance(1s);
      watcher_.read();
    }
    if (testing::Test::HasFailure()) return;
    converge();
    check_end();
    check_watcher();
  }

 private:
  void start() {
    client_ = std::make_unique<DirectClient>(
        *yard_.store, yard_.api->committer(), [this] { return yard_.api->kinds(); }, "sim");
    yard_.store->listen(
        "", [this](const StoreEventPtr& event) { checker_.hear(*yard_.store, *event); });
    contents_ = std::make_unique<NamespaceContents>(*client_, yard_.loop, ClusterIdentity{"ca", 6443});
    garbage_collector_ = std::make_unique<GarbageCollector>(yard_.loop, *client_);
    namespaces_ = std::make_unique<NamespaceTermination>(yard_.loop, *client_);
    event_expiry_ = std::make_unique<EventExpiry>(yard_.loop, *client_);
    EXPECT_GE(yard_.store->revision(), checker_.revision()) << "revisions never go back";
    const Revision from = watcher_.began == 0 ? yard_.store->revision() : watcher_.reached;
    if (watcher_.began == 0) watcher_.began = watcher_.reached = from;
    watcher_.stream =
        yard_.watch(fmt::format("/api/v1/configmaps?watch=1&resourceVersion={}", from));
  }
  void stop() {
    event_expiry_.reset();
    namespaces_.reset();
    garbage_collector_.reset();
    contents_.reset();
    client_.reset();
  }
  void crash() {
    yard_.loop.run_ready();  // a task that has begun finishes; what waits for the disk is cut off
    watcher_.read();
    stop();
    yard_.crash();
    yard_.start();
    start();
  }

  void act() {
    const uint64_t dice = random_.below(100);
    if (dice < 34) return create();
    if (dice < 46) return write_label();
    if (dice < 52) return write_owners();
    if (dice < 70) return remove();
    if (dice < 80) return release_one();
    if (dice < 88) return end_pods();
    if (dice < 94) return make_namespace();
    if (dice < 97) return remove_namespace();
    crash();
  }

  std::string pick_namespace() { return kNamespaces[random_.below(std::size(kNamespaces))]; }
  static std::string target(const SimKind& kind, std::string_view ns, std::string_view name = "") {
    return fmt::format("{}/namespaces/{}/{}{}{}", kind.prefix, ns, kind.plural,
                       name.empty() ? "" : "/", name);
  }
  struct Picked {
    const SimKind* kind = nullptr;
    ObjectPtr object;
    std::string target() const { return Simulation::target(*kind, object->ns(), object->name()); }
  };
  // Some object a user sees now; a ns of "" is any.
  Picked pick(std::string_view ns = "") {
    const SimKind& kind = kKinds[random_.below(std::size(kKinds))];
    const auto objects = client_->list(kind.resource, ns);
    if (objects.empty()) return {};
    return {&kind, objects[random_.below(objects.size())]};
  }
  void send(const std::string& method, const std::string& to, std::string body,
            const char* type = "application/json") {
    yard_.send(method, to, std::move(body), {{"Content-Type", type}});
  }
  void patch(const std::string& to, std::string body) {
    send("PATCH", to, std::move(body), "application/merge-patch+json");
  }

  // Mostly owners that are there; some of another namespace, of another uid, of a kind nobody
  // knows.
  JsonArray some_owners(const std::string& ns) {
    JsonArray out;
    for (uint64_t left = random_.below(3); left > 0; --left) {
      const Picked owner = pick(random_.below(10) == 0 ? "" : ns);
      if (owner.object == nullptr) continue;
      const uint64_t dice = random_.below(40);
      const std::string uid = dice == 0 ? random_.uuid() : std::string(owner.object->uid());
      out.push_back(
          JsonObject{{"apiVersion", dice == 1 ? kUnknownVersion
                                              : std::string_view(owner.kind->resource.api_version)},
                     {"kind", owner.kind->resource.kind},
                     {"name", owner.object->name()},
                     {"uid", uid},
                     {"blockOwnerDeletion", random_.below(4) != 0}});
    }
    return out;
  }

  void create() {
    const SimKind& kind = kKinds[random_.below(std::size(kKinds))];
    const std::string ns = pick_namespace();
    JsonObject metadata{{"name", fmt::format("x{}", ++names_)},
                        {"ownerReferences", some_owners(ns)}};
    if (random_.below(6) == 0) metadata["finalizers"] = JsonArray{kUserFinalizer};
    Json object = JsonObject{{"metadata", std::move(metadata)}};
    JsonObject pod{{"containers", JsonArray{JsonObject{{"name", "c"}, {"image", "i"}}}}};
    if (kind.resource.kind == "Pod") {
      if (random_.below(2) == 0) pod["nodeName"] = "node-1";
      object.get_object()["spec"] = std::move(pod);
    } else if (kind.resource.kind == "Job") {
      pod["restartPolicy"] = "Never";
      object.get_object()["spec"] = JsonObject{{"template", JsonObject{{"spec", std::move(pod)}}}};
    }
    send("POST", target(kind, ns), to_text(object));
  }
  void write_label() {
    const Picked one = pick();
    if (one.object)
      patch(one.target(),
            fmt::format(R"({{"metadata":{{"labels":{{"l":"{}"}}}}}})", random_.below(1000)));
  }
  void write_owners() {
    const Picked one = pick();
    if (one.object == nullptr) return;
    checker_.touched(std::string(one.object->uid()));
    const JsonObject metadata{{"ownerReferences", some_owners(std::string(one.object->ns()))},
                              {"uid", one.object->uid()}};
    patch(one.target(), to_text(Json(JsonObject{{"metadata", metadata}})));
  }
  // A second delete may change the policy; this user says the same each time, so that the checker
  // knows what to expect.
  void remove() {
    const Picked one = pick();
    if (one.object == nullptr) return;
    const std::string uid(one.object->uid());
    checker_.touched(uid);
    const char* policies[] = {"Background", "Foreground", "Orphan"};
    const char* policy = policies_.emplace(uid, policies[random_.below(3)]).first->second;
    if (one.object->is_being_deleted()) return;
    send(
        "DELETE", one.target(),
        fmt::format(
            R"({{"propagationPolicy":"{}","preconditions":{{"uid":"{}","resourceVersion":"{}"}}}})",
            policy, uid, one.object->revision()));
  }
  void release(const Picked& one) {
    JsonArray left;
    for (const std::string& finalizer : finalizers_of(*one.object)) {
      if (finalizer != kUserFinalizer) left.emplace_back(finalizer);
    }
    const JsonObject metadata{{"finalizers", left},
                              {"resourceVersion", std::to_string(one.object->revision())}};
    patch(one.target(), to_text(Json(JsonObject{{"metadata", metadata}})));
  }
  void release_one() {
    const Picked one = pick();
    if (one.object && one.object->is_being_deleted() && has_finalizer(*one.object, kUserFinalizer))
      release(one);
  }
  // What the node agent does.
  void end_pods() {
    for (const ObjectPtr& pod : client_->list(kKinds[1].resource, "")) {
      if (!pod->is_being_deleted()) continue;
      send("DELETE", target(kKinds[1], pod->ns(), pod->name()),
           fmt::format(R"({{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}})", pod->uid()));
    }
  }
  void make_namespace() {
    send("POST", "/api/v1/namespaces",
         fmt::format(R"({{"metadata":{{"name":"{}"}}}})", pick_namespace()));
  }
  void remove_namespace() {
    const std::string ns = pick_namespace();
    if (client_->get(kNamespace, "", ns) == nullptr) return;
    checker_.namespace_goes(ns);
    send("DELETE", "/api/v1/namespaces/" + ns, "");
  }

  // A last crash onto a disk without faults; then users let go of what they hold until nothing is
  // going any more.
  void converge() {
    yard_.faults = {};
    crash();
    for (int round = 0; round < 20; ++round) {
      yard_.loop.advance(40s);  // longer than the longest retry
      watcher_.read();
      bool held = false;
      for (const SimKind& kind : kKinds) {
        for (const ObjectPtr& object : client_->list(kind.resource, "")) {
          if (!object->is_being_deleted() || !has_finalizer(*object, kUserFinalizer)) continue;
          release({&kind, object});
          held = true;
        }
      }
      end_pods();
      if (!held && round > 2 && garbage_collector_->is_idle() && namespaces_->is_idle()) break;
    }
    yard_.loop.advance(1min);
    watcher_.read();
    EXPECT_TRUE(garbage_collector_->is_idle());
    EXPECT_TRUE(namespaces_->is_idle());
  }

  void check_end() {
    std::set<std::string, std::less<>> uids;
    for (const ObjectPtr& ns : client_->list(kNamespace, ""))
      EXPECT_FALSE(ns->is_being_deleted())
          << "namespace " << ns->name() << " did not end: " << ns->body();
    for (const Resource& resource : client_->resources(true)) {
      for (const ObjectPtr& object : client_->list(resource, "")) {
        uids.emplace(object->uid());
        EXPECT_NE(client_->get(kNamespace, "", object->ns()), nullptr)
            << object->name() << " outlived its namespace " << object->ns();
        EXPECT_FALSE(object->is_being_deleted() && !is_held(*object)) << with_dependents(*object);
        check_owners(*object);
      }
    }
    for (const auto& [uid, ns] : checker_.orphans())
      EXPECT_TRUE(uids.contains(uid) || checker_.is_lost(ns))
          << "the orphan " << uid << " in " << ns << " is gone";
  }
  std::string with_dependents(const Object& object) {
    std::string text = "still going: " + std::string(object.body());
    for (const Client::Dependent& dependent : client_->dependents(object.uid()))
      text += "\n  its dependent " + std::string(dependent.object->body());
    return text;
  }
  static bool has_unknown_owner(const Object& object) {
    return std::ranges::any_of(object.owners(), [](const OwnerRef& owner) {
      return owner.api_version == kUnknownVersion;
    });
  }
  // A dependent with an owner nobody knows stays, and so does what waits for it.
  bool is_held(const Object& owner, int depth = 10) {
    if (depth == 0) return false;
    return std::ranges::any_of(
        client_->dependents(owner.uid()), [&](const Client::Dependent& dependent) {
          return has_unknown_owner(*dependent.object) || is_held(*dependent.object, depth - 1);
        });
  }
  void check_owners(const Object& object) {
    if (has_unknown_owner(object) || object.is_being_deleted()) return;
    for (const OwnerRef& owner : object.owners()) {
      const ObjectPtr found = client_->get(
          {std::string(owner.api_version), std::string(owner.kind)}, object.ns(), owner.name);
      EXPECT_TRUE(found != nullptr && found->uid() == owner.uid)
          << "an owner is gone: " << object.body();
    }
  }

  void check_watcher() {
    std::vector<Watcher::Seen> truth;
    ASSERT_EQ(yard_.disk->compacted, 0u) << "the disk remembers everything";
    for (const auto& [revision, row] : yard_.disk->rows) {
      if (row.storage != "configmaps" || revision <= watcher_.began) continue;
      truth.push_back({revision, row.object == nullptr ? "DELETED"
                                 : row.supersedes == 0 ? "ADDED"
                                                       : "MODIFIED"});
    }
    ASSERT_FALSE(truth.empty());
    EXPECT_TRUE(watcher_.seen == truth)
        << watcher_.seen.size() << " events seen, " << truth.size() << " on the disk";
  }

  Random random_;
  ApiHarness yard_;
  Checker checker_;
  Watcher watcher_;
  std::map<std::string, const char*> policies_;  // by uid
  int names_ = 0;
  std::unique_ptr<DirectClient> client_;
  std::unique_ptr<NamespaceContents> contents_;
  std::unique_ptr<GarbageCollector> garbage_collector_;
  std::unique_ptr<NamespaceTermination> namespaces_;
  std::unique_ptr<EventExpiry> event_expiry_;
};

TEST(LifecycleSim, ConvergesFromEverySeed) {
  set_log_level(std::getenv("SEED") != nullptr ? LogLevel::Debug : LogLevel::Off);
  for_each_seed([](uint64_t seed) { Simulation(seed).run(); });
}

}  // namespace
}  // namespace yard
