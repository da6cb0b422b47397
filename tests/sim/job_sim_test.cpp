// Random Jobs whose pods end as the seed says, while the server crashes and commits fail. Whatever
// happens: every pod that ended is counted exactly once, no more pods run than the Job allows, a
// Job ends in one condition that stays, and once somebody lets the pods succeed all Jobs end.
// SEED=n replays one.

#include <map>
#include <set>

#include "sim/job_yard.h"
#include "testing/seeds.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

std::string random_spec(Random& random) {
  std::string spec;
  const int parallelism = 1 + static_cast<int>(random.below(4));
  const int completions = 1 + static_cast<int>(random.below(6));
  spec += fmt::format("  parallelism: {}\n", parallelism);
  const uint64_t shape = random.below(4);
  if (shape != 0) spec += fmt::format("  completions: {}\n", completions);
  if (shape >= 2) spec += "  completionMode: Indexed\n";
  if (shape == 3) {
    spec += fmt::format("  backoffLimitPerIndex: {}\n", random.below(3));
    if (random.below(2) == 0)
      spec +=
          fmt::format("  maxFailedIndexes: {}\n", random.below(static_cast<uint64_t>(completions)));
  } else {
    spec += fmt::format("  backoffLimit: {}\n", random.below(6));
  }
  if (shape >= 2 && random.below(4) == 0)
    spec += "  successPolicy: {rules: [{succeededCount: 1}]}\n";
  const uint64_t replacement = random.below(3);
  if (replacement == 0) spec += "  podReplacementPolicy: Failed\n";
  if (replacement == 1)
    spec +=
        "  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: "
        "[3]}}]}\n";
  if (random.below(5) == 0) spec += "  activeDeadlineSeconds: 300\n";
  return spec +
         "  template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}\n";
}

// What the commits have shown of one Job and its pods.
struct Ledger {
  std::set<std::string> named_succeeded, named_failed, still_named;
  int64_t most_failed = 0;
  std::string end;  // the status a finished Job had
};

class JobSim {
 public:
  explicit JobSim(uint64_t seed)
      : random_(seed * 7919), yard_(seed, {.failed_commits_percent = 3, .longest_commit = 5ms}) {
    follow();
  }

  void run() {
    for (int i = 0, count = 1 + static_cast<int>(random_.below(4)); i < count; ++i)
      create(fmt::format("j{}", i));
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      act();
      if (random_.below(40) == 0) crash();
      yard_.api.loop.advance(
          std::chrono::milliseconds(random_.below(random_.below(4) == 0 ? 8000 : 40)));
    }
    converge();
    check_counts();
  }

 private:
  void create(const std::string& name) {
    const Json job = yaml("apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name +
                          "}\nspec:\n" + random_spec(random_));
    for (int tries = 0; tries < 50; ++tries) {
      const Answer made = yard_.api.call("POST", JobYard::kJobs, to_text(job));
      if (made.status == 201 || made.status == 409) {
        names_.push_back(name);
        return;
      }
      EXPECT_EQ(made.status, 500) << made.text;
    }
  }

  void crash() {
    yard_.stop_controllers();
    yard_.api.loop.run_ready();
    yard_.crash_and_start();
    follow();
  }

  void follow() {
    yard_.client->follow(kJobResource,
                         [this](const ObjectEvent& event) { see_job(event.object->tree()); });
    yard_.client->follow(kPodResource,
                         [this](const ObjectEvent& event) { see_pod(event.object->tree()); });
    for (const ObjectPtr& job : yard_.client->list(kJobResource, ""))
      see_job(job->tree());
    for (const ObjectPtr& pod : yard_.client->list(kPodResource, ""))
      see_pod(pod->tree());
  }

  void see_job(const Json& tree) {
    Ledger& ledger = ledgers_[std::string(name_of(tree))];
    std::set<std::string> named;
    for (const auto& [list, all] : {std::pair{"succeeded", &ledger.named_succeeded},
                                    std::pair{"failed", &ledger.named_failed}}) {
      for (const Json& uid : list_at(tree, {"status", "uncountedTerminatedPods", list})) {
        const std::string text(text_of(uid));
        named.insert(text);
        const bool is_new = all->insert(text).second;
        EXPECT_TRUE(is_new || ledger.still_named.contains(text))
            << "a pod is named twice: " << text;
      }
    }
    for (const std::string& uid : ledger.named_succeeded)
      EXPECT_FALSE(ledger.named_failed.contains(uid)) << "a pod is named as both";
    ledger.still_named = std::move(named);
    const int64_t failed = int_at(tree, {"status", "failed"});
    EXPECT_GE(failed, ledger.most_failed) << "failures are never forgotten";
    ledger.most_failed = failed;
    const std::string end =
        condition_status(tree, "Complete") == "True" || condition_status(tree, "Failed") == "True"
            ? to_text(*find(tree, "status"))
            : "";
    EXPECT_FALSE(condition_status(tree, "Complete") == "True" &&
                 condition_status(tree, "Failed") == "True");
    if (!ledger.end.empty()) {
      EXPECT_EQ(end, ledger.end) << "a finished Job stays as it is";
    }
    ledger.end = end;
  }

  void see_pod(const Json& pod) {
    const std::string job(text_at(pod, {"metadata", "labels", "job-name"}));
    check_parallelism(job);
  }

  void check_parallelism(const std::string& name) {
    const Json job = yard_.job(name);
    if (!job.is_object()) return;
    int64_t active = 0;
    std::set<std::string> indexes;
    for (const ObjectPtr& object : yard_.client->list(kPodResource, "default")) {
      if (object->label("job-name") != name || object->is_being_deleted()) continue;
      const std::string_view phase = object->fields()[6];
      if (phase == "Succeeded" || phase == "Failed") continue;
      ++active;
      if (const auto index = object->label(kIndexKey)) {
        EXPECT_TRUE(indexes.insert(std::string(*index)).second) << "two pods of index " << *index;
      }
    }
    EXPECT_LE(active, int_at(job, {"spec", "parallelism"})) << name;
  }

  // One thing that a kubelet or a user does; the answer is not awaited.
  void act() {
    if (random_.below(60) == 0) {
      const std::string& name = names_[random_.below(names_.size())];
      const bool suspended = bool_at(yard_.job(name), {"spec", "suspend"});
      send("PATCH", JobYard::kJobs + ("/" + name),
           fmt::format(R"({{"spec":{{"suspend":{}}}}})", !suspended));
    }
    const std::vector<Json> pods = yard_.pods();
    if (!pods.empty()) act_on(pods[random_.below(pods.size())], true);
  }

  void act_on(const Json& pod, bool at_random) {
    const std::string name(name_of(pod));
    const std::string_view phase = text_at(pod, {"status", "phase"});
    const bool ended = phase == "Succeeded" || phase == "Failed";
    if (is_being_deleted(pod) && ended)
      return send("DELETE", JobYard::pod_path(name, ""), R"({"gracePeriodSeconds":0})");
    if (ended) return;
    if (text_at(pod, {"spec", "nodeName"}).empty()) {
      return send("POST", JobYard::pod_path(name, "binding"),
                  R"({"metadata":{"name":")" + name + R"("},"target":{"kind":"Node","name":"n"}})");
    }
    if (at_random && random_.below(12) == 0) return send("DELETE", JobYard::pod_path(name, ""), "");
    if (phase == "Pending" && at_random) return send_status(name, R"({"phase":"Running"})");
    const int codes[] = {0, 0, 1, 3};
    // A process ends once: what is said again, because nobody waited for the answer, is the same.
    const int code = ends_.try_emplace(name, at_random ? codes[random_.below(4)] : 0).first->second;
    send_status(name, JobYard::ended_status(code, yard_.now()));
  }

  void send_status(const std::string& pod, const std::string& status) {
    send("PATCH", JobYard::pod_path(pod, "status"), R"({"status":)" + status + "}");
  }
  void send(const std::string& method, const std::string& path, const std::string& body) {
    Headers headers;
    if (method == "PATCH") headers = {{"Content-Type", "application/merge-patch+json"}};
    yard_.api.send(method, path, body, headers);
  }

  void converge() {
    for (int round = 0; round < 400 && !yard_.have_ended(names_); ++round) {
      for (const std::string& name : names_)
        if (bool_at(yard_.job(name), {"spec", "suspend"}))
          send("PATCH", JobYard::kJobs + ("/" + name), R"({"spec":{"suspend":false}})");
      for (const Json& pod : yard_.pods())
        act_on(pod, false);
      yard_.api.loop.advance(10s);
    }
    for (const std::string& name : names_)
      EXPECT_FALSE(ledgers_[name].end.empty())
          << name << " did not end: " << to_text(yard_.status(name));
    yard_.api.loop.advance(5min);
    for (const Json& pod : yard_.pods())
      EXPECT_TRUE(list_at(pod, {"metadata", "finalizers"}).empty()) << name_of(pod);
  }

  void check_counts() {
    for (const std::string& name : names_) {
      const Json job = yard_.job(name);
      const Ledger& ledger = ledgers_[name];
      EXPECT_EQ(int_at(job, {"status", "failed"}), static_cast<int64_t>(ledger.named_failed.size()))
          << name;
      const int64_t succeeded = int_at(job, {"status", "succeeded"});
      if (text_at(job, {"spec", "completionMode"}) != "Indexed") {
        EXPECT_EQ(succeeded, static_cast<int64_t>(ledger.named_succeeded.size())) << name;
        check_all_successes_are_named(name, ledger);
      } else {
        const int end = static_cast<int>(int_at(job, {"spec", "completions"}));
        EXPECT_EQ(succeeded,
                  IndexSet::parse(text_at(job, {"status", "completedIndexes"}), end).size())
            << name;
      }
      if (condition_status(job, "Complete") == "True" &&
          find_path(job, {"spec", "completions"}) != nullptr &&
          find_path(job, {"spec", "successPolicy"}) == nullptr) {
        EXPECT_GE(succeeded, int_at(job, {"spec", "completions"})) << name;
      }
      check_no_end_is_missed(name, ledger);
    }
  }

  // Pods that nobody deleted and that ended are counted. (The others may have been taken away by
  // suspending.)
  void check_no_end_is_missed(const std::string& name, const Ledger& ledger) {
    for (const Json& pod : yard_.pods()) {
      if (text_at(pod, {"metadata", "labels", "job-name"}) != name || is_being_deleted(pod))
        continue;
      const std::string uid(text_at(pod, {"metadata", "uid"}));
      const Json& container = list_at(pod, {"status", "containerStatuses"}).at(0);
      const int64_t code = int_at(container, {"state", "terminated", "exitCode"});
      const bool ignored =
          code == 3 && find_path(yard_.job(name), {"spec", "podFailurePolicy"}) != nullptr;
      EXPECT_TRUE(code == 0 || ignored || ledger.named_failed.contains(uid)) << name_of(pod);
    }
  }
  void check_all_successes_are_named(const std::string& name, const Ledger& ledger) {
    for (const Json& pod : yard_.pods()) {
      if (text_at(pod, {"metadata", "labels", "job-name"}) != name || is_being_deleted(pod))
        continue;
      const std::string uid(text_at(pod, {"metadata", "uid"}));
      EXPECT_TRUE(text_at(pod, {"status", "phase"}) != "Succeeded" ||
                  ledger.named_succeeded.contains(uid))
          << name_of(pod);
    }
  }

  Random random_;
  JobYard yard_;
  std::vector<std::string> names_;
  std::map<std::string, Ledger> ledgers_;
  std::map<std::string, int> ends_;  // exit codes by pod
};

TEST(JobSim, CountsOnceWhateverFails) {
  for_each_seed([](uint64_t seed) { JobSim(seed).run(); });
}

}  // namespace
}  // namespace yard
