// Random training jobs of all kinds whose pods end, are evicted and deleted as the seed says, while
// users suspend and scale, the server crashes and commits fail. Whatever happens: a job ends in one
// condition that stays, no pod is made after that, restarts stay within the limit and count no
// failure twice, attempts of a gang never mix, and a gang that the scheduler places is never in
// halves for longer than a bound. Once pods are let succeed, all jobs end and
// nothing runs that the clean-up policy does not allow. SEED=n replays one.

#include <cstdlib>
#include <map>
#include <set>

#include "base/log.h"
#include "sim/training_yard.h"
#include "testing/seeds.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

struct Shape {
  const char* kind;
  std::vector<const char*> types;
  const char* written_as = "";  // where it is not v1
};
const Shape kShapes[] = {{"PyTorchJob", {"Master", "Worker"}},
                         {"PyTorchJob", {"Worker"}},
                         {"TFJob", {"Chief", "Worker", "PS"}},
                         {"TFJob", {"Worker", "PS"}},
                         {"XGBoostJob", {"Master", "Worker"}},
                         {"PaddleJob", {"Worker"}},
                         {"JAXJob", {"Worker"}},
                         {"MXJob", {"Scheduler", "Server", "Worker"}},
                         {"MPIJob", {"Launcher", "Worker"}},
                         {"MPIJob", {"Launcher", "Worker"}, "v2beta1"}};

struct Ledger {
  std::string kind;
  std::string policy;  // cleanPodPolicy
  std::optional<int64_t> limit;
  bool gang = false;
  bool keeps_launcher = false;   // its pod stays, ended: mpi-operator's way
  std::set<std::string> failed;  // uids of pods that failed by themselves
  int64_t restarts = 0;
  std::string end;  // the conditions a finished job had
  bool is_over = false;
  // Since some of its pods have a node and others wait, though none of them was lost; and which.
  std::optional<Time> half_since;
  std::string half;
  bool is_disturbed = false;
};

// A bind that a failed commit took with it is tried again, and a new server looks at all pods.
constexpr Duration kHalfBound = 5s;
constexpr int kRoom = 8;  // for the largest job

class TrainingSim {
 public:
  explicit TrainingSim(uint64_t seed)
      : random_(seed * 6007), yard_(seed, {.failed_commits_percent = 3, .longest_commit = 5ms}) {
    yard_.api.parses_answers = false;
    is_scheduled_ = below(2) == 0;
    follow();
    start_scheduler();
  }

  // Small worlds, many of them: most have one job or two, and every fault comes early.
  void run() {
    for (int i = 0, count = below(10) == 0 ? 4 : 1 + below(3) / 2; i < count; ++i)
      create(fmt::format("j{}", i));
    const int steps = below(10) == 0 ? 120 : 25;
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      act();
      if (below(30) == 0) crash();
      yard_.api.loop.advance(std::chrono::milliseconds(below(below(4) == 0 ? 15000 : 60)));
      check_gangs();
    }
    converge();
    check_what_is_left();
  }

 private:
  int below(int end) { return static_cast<int>(random_.below(static_cast<uint64_t>(end))); }
  template <typename List>
  const auto& any_of(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int>(std::size(list))))];
  }

  void create(const std::string& name) {
    const Shape& shape = any_of(kShapes);
    Ledger ledger;
    ledger.kind = shape.kind;
    std::vector<SpecType> types;
    static const char* const kRestarts[] = {"Always", "OnFailure", "Never", "ExitCode"};
    for (const char* type : shape.types) {
      const std::string_view word = type;
      types.push_back(
          {type, word == "Worker" || word == "PS" ? 1 + below(3) : 1, any_of(kRestarts)});
    }
    static const char* const kPolicies[] = {"", "None", "Running", "All"};
    ledger.policy = any_of(kPolicies);
    std::string policy;
    if (!ledger.policy.empty()) policy += fmt::format("cleanPodPolicy: {}, ", ledger.policy);
    if (below(2) == 0) {
      ledger.limit = below(5);
      policy += fmt::format("backoffLimit: {}, ", *ledger.limit);
    }
    if (below(5) == 0) policy += "activeDeadlineSeconds: 200, ";
    ledger.gang = below(3) == 0;
    std::string marks = fmt::format("trainyard.dev/gang-restart: '{}'", ledger.gang);
    ledger.keeps_launcher = *shape.written_as != '\0';
    if (ledger.keeps_launcher) marks += fmt::format(", {}: {}", kWrittenAs, shape.written_as);
    const Json tree =
        yard_.tree_of(shape.kind, name, training_spec(shape.kind, types, "{" + policy + "}"),
                      "annotations: {" + marks + "}");
    ledgers_[name] = ledger;
    for (int tries = 0; tries < 50; ++tries) {
      const Answer made = yard_.api.call("POST", TrainingYard::path_of(shape.kind), to_text(tree));
      if (made.status == 201 || made.status == 409) return;
      EXPECT_EQ(made.status, 500) << made.text;
    }
  }

  void start_scheduler() {
    if (is_scheduled_) yard_.start_scheduler(kRoom);
  }

  void crash() {
    yard_.scheduler.reset();
    yard_.training.reset();
    yard_.stop_controllers();
    yard_.api.loop.run_ready();
    yard_.crash_and_start();
    yard_.start_training();
    follow();
    start_scheduler();
  }

  void follow() {
    for (const TrainingKind& kind : training_kinds()) {
      if (kind.version != "v1") continue;
      const Resource resource{"kubeflow.org/v1", std::string(kind.kind)};
      yard_.client->follow(resource,
                           [this](const ObjectEvent& event) { see_job(event.object->tree()); });
      for (const ObjectPtr& job : yard_.client->list(resource, ""))
        see_job(job->tree());
    }
    yard_.client->follow(kPodResource, [this](const ObjectEvent& event) { see_pod(event); });
  }

  void see_job(const Json& tree) {
    Ledger& ledger = ledgers_[std::string(name_of(tree))];
    const int ends = (condition_status(tree, "Succeeded") == "True") +
                     (condition_status(tree, "Failed") == "True");
    EXPECT_LE(ends, 1) << "two ends: " << to_text(tree);
    const std::string conditions = to_text(Json(list_at(tree, {"status", "conditions"})));
    if (ledger.is_over) {
      EXPECT_EQ(conditions, ledger.end) << "an end stays";
    } else if (ends == 1) {
      ledger.is_over = true;
      ledger.end = conditions;
      EXPECT_NE(find_path(tree, {"status", "completionTime"}), nullptr);
      EXPECT_NE(condition_status(tree, "Restarting"), "True");
      EXPECT_NE(condition_status(tree, "Running"), "True");
    }
    const int64_t restarts = int_at(tree, {"status", "restarts"});
    EXPECT_GE(restarts, ledger.restarts) << "a restart is forgotten";
    EXPECT_LE(restarts, ledger.limit.value_or(restarts)) << "more restarts than allowed";
    EXPECT_LE(restarts, static_cast<int64_t>(ledger.failed.size())) << "a failure counts twice";
    ledger.restarts = restarts;
  }

  static std::string job_of(const Object& pod) {
    return std::string(pod.label(kJobNameLabel).value_or(""));
  }

  void see_pod(const ObjectEvent& event) {
    const Object& pod = *event.object;
    const auto found = ledgers_.find(job_of(pod));
    if (found == ledgers_.end()) return;
    Ledger& ledger = found->second;
    const std::string_view phase = JobYard::phase_of(pod);
    ledger.is_disturbed = ledger.is_disturbed || event.type == ObjectEvent::Type::Deleted ||
                          pod.is_being_deleted() || phase == "Failed" || phase == "Succeeded";
    if (event.type != ObjectEvent::Type::Added) return;
    EXPECT_FALSE(ledger.is_over) << pod.name() << " was made after the end";
    if (ledger.gang) check_attempts(pod);
  }

  void check_attempts(const Object& fresh) {
    for (const ObjectPtr& pod : yard_.client->list(kPodResource, "default")) {
      if (job_of(*pod) != job_of(fresh)) continue;
      EXPECT_EQ(pod->label(kGenerationLabel), fresh.label(kGenerationLabel))
          << "attempts mix: " << pod->name() << " and " << fresh.name();
    }
  }

  // All of a job's pods have a node, or none, but for the bound. What was lost since they were
  // placed is another matter: then the rest runs on until its place is free again.
  void check_gangs() {
    if (!is_scheduled_) return;
    std::map<std::string, std::pair<std::string, std::string>> pods;  // by job: placed, waiting
    for (const ObjectPtr& pod : yard_.client->list(kPodResource, "default")) {
      auto& [placed, waiting] = pods[job_of(*pod)];
      (JobYard::node_of(*pod).empty() ? waiting : placed) += std::string(pod->name()) + " ";
    }
    for (auto& [name, ledger] : ledgers_) {
      const auto& [placed, waiting] = pods[name];
      if (placed.empty()) ledger.is_disturbed = false;
      const bool is_half = !placed.empty() && !waiting.empty() && !ledger.is_disturbed;
      const std::string half = is_half ? placed + "and not " + waiting : "";
      if (half != ledger.half || !is_half) {
        ledger.half = half;
        ledger.half_since = yard_.api.loop.now();
      }
      const Duration length = is_half ? yard_.api.loop.now() - *ledger.half_since : 0s;
      EXPECT_LE(length, kHalfBound) << "in halves: " << half;
    }
  }

  void act() {
    const std::vector<std::string> pods = yard_.active();
    switch (below(12)) {
      case 0: return change_some_job();
      case 1:
      case 2: return reap();
      default: break;
    }
    if (pods.empty()) return;
    const std::string& name = any_of(pods);
    const ObjectPtr pod = yard_.client->get(kPodResource, "default", name);
    if (JobYard::phase_of(*pod) != "Running") return start(name);
    switch (below(8)) {
      case 0: return ask("DELETE", "", name, "");
      case 1: return set_end(name, 137, R"("reason":"Evicted",)");
      case 2:
      case 3: {
        static const int kCodes[] = {1, 2, 130, 137, 255};
        ledgers_[job_of(*pod)].failed.insert(std::string(pod->uid()));
        return set_end(name, any_of(kCodes), "");
      }
      case 4: return set_end(name, 0, "");
      default: return;
    }
  }

  void change_some_job() {
    std::vector<std::string> names;
    for (const auto& [name, ledger] : ledgers_)
      names.push_back(name);
    const std::string& name = any_of(names);
    ledgers_[name].is_disturbed = true;
    const std::string& kind = ledgers_[name].kind;
    const std::string path = TrainingYard::path_of(kind) + "/" + name;
    const std::string_view map = training_kind(kind, "v1")->replicas;
    const std::string change =
        below(2) == 0 ? fmt::format(R"({{"spec":{{"runPolicy":{{"suspend":{}}}}}}})", below(2) == 0)
                      : fmt::format(R"({{"spec":{{"{}":{{"Worker":{{"replicas":{}}}}}}}}})", map,
                                    1 + below(4));
    const Answer patched = yard_.api.patch(path, change);
    EXPECT_TRUE(patched.status == 200 || patched.status == 500) << patched.text;
  }

  // Writes of the kubelet may be lost with a commit; it tries again another time.
  void ask(const std::string& method, const std::string& subresource, const std::string& pod,
           const std::string& body) {
    const std::string path =
        "/api/v1/namespaces/default/pods/" + pod + (subresource.empty() ? "" : "/" + subresource);
    const Answer answer =
        method == "PATCH" ? yard_.api.patch(path, body) : yard_.api.call(method, path, body);
    EXPECT_TRUE(answer.status < 300 || answer.status == 404 || answer.status == 409 ||
                answer.status == 500)
        << answer.text;
  }
  void start(const std::string& pod) {
    const ObjectPtr object = yard_.client->get(kPodResource, "default", pod);
    if (object == nullptr) return;
    const bool has_node = !JobYard::node_of(*object).empty();
    if (!has_node && is_scheduled_) return;  // the scheduler's to say
    if (!has_node)
      ask("POST", "binding", pod,
          R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":"n1"}})");
    ask("PATCH", "status", pod,
        fmt::format(R"({{"status":{{"phase":"Running","startTime":"{}"}}}})",
                    rfc3339(yard_.api.loop.now())));
  }
  void set_end(const std::string& name, int code, const std::string& more) {
    const ObjectPtr pod = yard_.client->get(kPodResource, "default", name);
    if (pod == nullptr) return;
    const std::string_view container = training_kind(ledgers_[job_of(*pod)].kind, "v1")->container;
    ask("PATCH", "status", name,
        fmt::format(
            R"({{"status":{{"phase":"{}",{}"containerStatuses":[{{"name":"{}","restartCount":0,"image":"i",)"
            R"("imageID":"","ready":false,"state":{{"terminated":{{"exitCode":{}}}}}}}]}}}})",
            code == 0 ? "Succeeded" : "Failed", more, container, code));
  }
  void reap() {
    for (const ObjectPtr& pod : yard_.client->list(kPodResource, "default")) {
      const std::string name(pod->name());
      const std::string_view phase = JobYard::phase_of(*pod);
      const bool ended = phase == "Succeeded" || phase == "Failed";
      if (!ended && phase == "Running" &&
          pod->body().find("\"activeDeadlineSeconds\"") != std::string_view::npos)
        set_end(name, 143, R"("reason":"DeadlineExceeded",)");
      if (!pod->is_being_deleted()) continue;
      if (!ended) set_end(name, 143, "");
      ask("DELETE", "", name, R"({"gracePeriodSeconds":0})");
    }
  }

  bool all_over() const {
    return std::ranges::all_of(ledgers_, [](const auto& entry) { return entry.second.is_over; });
  }

  void converge() {
    for (int round = 0; round < 400 && !all_over() && !testing::Test::HasFailure(); ++round) {
      for (const auto& [name, ledger] : ledgers_)
        if (!ledger.is_over && round % 8 == 0)
          yard_.api.patch(TrainingYard::path_of(ledger.kind) + "/" + name,
                          R"({"spec":{"runPolicy":{"suspend":false}}})");
      yard_.api.loop.advance(1s);
      reap();
      for (const std::string& pod : yard_.active()) {
        const ObjectPtr object = yard_.client->get(kPodResource, "default", pod);
        if (object != nullptr && JobYard::phase_of(*object) == "Running") {
          set_end(pod, 0, "");
        } else {
          start(pod);
        }
      }
      yard_.api.loop.advance(2s);
      check_gangs();
    }
    EXPECT_TRUE(all_over()) << "a job never ended: " << open_jobs();
    for (int round = 0; round < 4; ++round) {
      yard_.api.loop.advance(20s);
      reap();
    }
  }

  std::string open_jobs() const {
    std::string out;
    for (const auto& [name, ledger] : ledgers_)
      if (!ledger.is_over) out += to_text(yard_.training_job_named(ledger.kind, name)) + "\n";
    for (const Resource& resource : {kPodResource, Resource{"v1", "Node"}})
      for (const ObjectPtr& object : yard_.client->list(resource, ""))
        out += std::string(object->body()) + "\n";
    return out + yard_.pods_text();
  }

  void check_what_is_left() {
    for (const Json& pod : yard_.pods()) {
      const auto found =
          ledgers_.find(std::string(text_at(pod, {"metadata", "labels", kJobNameLabel})));
      if (found == ledgers_.end()) continue;
      const std::string_view phase = text_at(pod, {"status", "phase"});
      const bool runs = phase != "Succeeded" && phase != "Failed";
      const bool is_kept = found->second.keeps_launcher && name_of(pod).ends_with("-launcher");
      EXPECT_TRUE(is_kept || found->second.policy != "All") << name_of(pod) << " stayed";
      EXPECT_TRUE(!runs || found->second.policy == "None") << name_of(pod) << " runs on";
    }
  }

  Random random_;
  bool is_scheduled_ = false;
  TrainingYard yard_;
  std::map<std::string, Ledger> ledgers_;
};

TEST(TrainingSim, EndsOnceWhateverFails) {
  if (std::getenv("SEED") == nullptr) set_log_level(LogLevel::Error);
  for_each_seed([](uint64_t seed) { TrainingSim(seed).run(); });
}

}  // namespace
}  // namespace yard
