// Jobs and pods whose processes end as the seed says, through the agent, the scheduler and the Job
// controller, while the server crashes, commits fail, shims die, pods are deleted and the clock
// jumps. Processes live on when the server does not. Whatever happens: no run of a container is
// started twice, what a pod says of an end is how its process ended, a pod that may not restart
// runs once, every Job ends, and nothing runs for a pod that is gone. SEED=n replays one.

#include <map>
#include <set>

#include "node/agent.h"
#include "scheduler/scheduler.h"
#include "sim/job_yard.h"
#include "sim/sim_pod_runtime.h"
#include "testing/seeds.h"

namespace yard {
namespace {

using namespace std::chrono_literals;
constexpr uint64_t kWorlds = kSimSeeds / 5;  // a step is dear: three controllers look at each
constexpr int kSteps = 120;

// One run of one container; `lost` when nobody can know how it ended.
struct KnownRun {
  int pid = 0;
  std::optional<int> code;
  bool lost = false;
};

class ProcessSim {
 public:
  explicit ProcessSim(uint64_t seed)
      : random_(seed * 104729),
        yard_(seed, {.failed_commits_percent = 2, .longest_commit = 5ms}),
        runtime_(yard_.api.loop) {
    start();
  }
  ~ProcessSim() { stop(); }

  void run() {
    for (int i = 0, count = 1 + static_cast<int>(random_.below(3)); i < count; ++i)
      create_job(fmt::format("j{}", i));
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      act();
      note_runs();
      yard_.api.loop.advance(
          std::chrono::milliseconds(random_.below(random_.below(4) == 0 ? 8000 : 40)));
      note_runs();
    }
    converge();
    remove_all();
  }

 private:
  void start() {
    MachineFacts machine;
    machine.hostname = "box";
    machine.cpus = 4;
    machine.memory_bytes = int64_t{8} << 30;
    scheduler_ = std::make_unique<Scheduler>(*yard_.client, yard_.api.loop);
    agent_ = std::make_unique<Agent>(*yard_.client, yard_.api.loop, runtime_, network_,
                                     NodeOptions{}, machine);
    scheduler_->set_binding_listener(
        {[this](const Object& pod, const std::string& node) { agent_->binding_begins(pod, node); },
         [this](const std::string& uid) { agent_->binding_failed(uid); }});
    agent_->start();
    yard_.client->follow(kPodResource,
                         [this](const ObjectEvent& event) { see_pod(event.object->tree()); });
  }
  void stop() {
    agent_.reset();
    scheduler_.reset();
  }
  void crash() {
    stop();
    yard_.stop_controllers();
    yard_.api.loop.run_ready();
    yard_.crash_and_start();
    start();
  }

  std::string send(const std::string& method, const std::string& path, const Json& body) {
    for (int tries = 0; tries < 50; ++tries) {
      const Answer answer = yard_.api.call(method, path, to_text(body));
      if (answer.status != 500) return answer.text;
    }
    return "";
  }
  static std::string pod_spec(const std::string& policy) {
    return "{restartPolicy: " + policy +
           ", automountServiceAccountToken: false, terminationGracePeriodSeconds: 2, containers: "
           "[{name: main, image: i, command: [x], resources: {requests: {cpu: 500m}}}]}";
  }
  void create_job(const std::string& name) {
    const std::string spec = fmt::format(
        "{{parallelism: {}, completions: {}, backoffLimit: 50, completionMode: {}, template: "
        "{{spec: {}}}}}",
        1 + random_.below(4), 1 + random_.below(6),
        random_.below(2) == 0 ? "Indexed" : "NonIndexed",
        pod_spec(random_.below(2) == 0 ? "Never" : "OnFailure"));
    send("POST", JobYard::kJobs,
         yaml("apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec: " + spec));
    jobs_.push_back(name);
  }
  void create_pod() {
    send("POST", kPods,
         yaml(fmt::format("metadata: {{name: p{}}}\nspec: {}", ++pods_made_,
                          pod_spec(random_.below(2) == 0 ? "Never" : "Always"))));
  }
  void delete_pod(const std::string& name) {
    send("DELETE", kPods + ("/" + name), JsonObject{{"gracePeriodSeconds", 1}});
  }

  // What a process, a user or the machine does.
  void act() {
    const uint64_t choice = random_.below(100);
    if (choice < 3) return crash();
    if (choice < 5) return jump(random_.below(2) == 0 ? Duration(-20s) : Duration(90s));
    if (choice < 12 && pods_made_ < 6) return create_pod();
    const std::vector<std::string> uids = runtime_.pods();
    if (uids.empty()) return;
    const std::string& uid = uids[random_.below(uids.size())];
    if (choice < 15 && runtime_.find(uid)->alive) return runtime_.kill_shim(uid);
    if (choice < 22) return delete_pod(runtime_.find(uid)->name);
    const int codes[] = {0, 0, 1, 3};
    if (choice < 80) runtime_.exit(uid, "main", codes[random_.below(4)]);
  }

  // What was posted is due at once whatever the clock says: it runs before.
  void jump(Duration by) {
    yard_.api.loop.run_ready();
    yard_.api.loop.jump_clock(by);
  }

  // What truly ran, whoever knows of it.
  void note_runs() {
    for (const auto& [uid, record] : runtime_.records) {
      for (const ContainerRun& run : record.runs) {
        KnownRun& known = runs_[uid][run.run];
        if (known.pid == 0) known.pid = run.pid;
        EXPECT_EQ(known.pid, run.pid) << record.name << ": a run was started twice";
        if (!run.exit) continue;
        if (!known.code) known.lost = run.exit->lost;
        if (!known.code) known.code = run.exit->code;
        EXPECT_EQ(*known.code, run.exit->code) << record.name << ": a process ends once";
      }
    }
  }

  void see_pod(const Json& pod) {
    note_runs();
    const std::string uid(text_at(pod, {"metadata", "uid"}));
    const bool once = text_at(pod, {"spec", "restartPolicy"}) == "Never";
    const auto ran = runs_.find(uid);
    if (once && ran != runs_.end()) {
      EXPECT_LE(ran->second.size(), 1u) << name_of(pod) << " may not run again";
    }
    for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
      const Json* end = find_path(status, {"state", "terminated"});
      if (end == nullptr) continue;
      const std::string_view id = text_at(*end, {"containerID"});
      const auto number = parse_int64(id.substr(id.find_last_of('/') + 1));
      if (!number || ran == runs_.end()) continue;
      const auto known = ran->second.find(static_cast<int>(*number));
      if (known == ran->second.end() || known->second.lost) continue;
      ASSERT_TRUE(known->second.code.has_value()) << name_of(pod) << " has not ended";
      EXPECT_EQ(int_at(*end, {"exitCode"}), *known->second.code) << name_of(pod);
    }
  }

  // From now on everything that runs ends well.
  void converge() {
    for (int round = 0; round < 300 && !yard_.have_ended(jobs_) && !testing::Test::HasFailure();
         ++round) {
      for (const std::string& uid : runtime_.pods())
        runtime_.exit(uid, "main", 0);
      yard_.api.loop.advance(20s);
      note_runs();
    }
    for (const std::string& name : jobs_)
      EXPECT_NE(yard_.conditions(name).find("Complete"), std::string::npos)
          << name << " did not complete: " << to_text(yard_.status(name));
  }
  void remove_all() {
    for (const std::string& name : jobs_)
      send("DELETE", JobYard::kJobs + ("/" + name),
           JsonObject{{"propagationPolicy", "Background"}});
    for (int round = 0; round < 20 && !yard_.pods().empty(); ++round) {
      for (const Json& pod : yard_.pods())
        delete_pod(std::string(name_of(pod)));
      yard_.api.loop.advance(30s);
    }
    yard_.api.loop.advance(1min);
    EXPECT_TRUE(yard_.pods().empty());
    EXPECT_TRUE(runtime_.records.empty()) << "what runs belongs to a pod";
  }

  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  Random random_;
  JobYard yard_;
  SimPodRuntime runtime_;
  SharedNetwork network_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
  std::vector<std::string> jobs_;
  int pods_made_ = 0;
  std::map<std::string, std::map<int, KnownRun>> runs_;  // by pod and number
};

TEST(ProcessSim, WhatRunsIsWhatPodsSayWhateverFails) {
  for_each_seed([](uint64_t seed) { ProcessSim(seed).run(); }, kWorlds);
}

// The disk was full when the node was registered after a crash, and nobody tried again.
TEST(ProcessSim, ANodeThatCouldNotBeRegisteredComesLater) {
  ProcessSim(1025).run();
}

}  // namespace
}  // namespace yard
