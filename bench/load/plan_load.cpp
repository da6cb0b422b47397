#include "load/plan_load.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "controllers/training/plan_training_job.h"
#include "json/json.h"

namespace yard::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 21;

Json job_tree(int replicas) {
  const auto group = [](int count) {
    return JsonObject{
        {"replicas", count},
        {"restartPolicy", "OnFailure"},
        {"template",
         JsonObject{{"spec", JsonObject{{"containers", JsonArray{JsonObject{
                                                           {"name", "pytorch"},
                                                           {"image", "pytorch/pytorch"},
                                                           {"command", JsonArray{"python", "t.py"}},
                                                       }}}}}}}};
  };
  return JsonObject{
      {"apiVersion", "kubeflow.org/v1"},
      {"kind", "PyTorchJob"},
      {"metadata", JsonObject{{"name", "j"}, {"namespace", "default"}, {"uid", "u"}}},
      {"spec", JsonObject{{"pytorchReplicaSpecs",
                           JsonObject{{"Master", group(1)}, {"Worker", group(replicas - 1)}}}}}};
}

double milliseconds(Clock::duration length) {
  return std::chrono::duration<double, std::milli>(length).count();
}

double look(const TrainingWorld& world, TrainingPlan& out) {
  const auto began = Clock::now();
  out = plan_training_job(world);
  return milliseconds(Clock::now() - began);
}

struct Figures {
  double steady = 0, mean = 0, all = 0;
};

Figures one_round(int replicas) {
  TrainingWorld world;
  world.job = training_job(job_tree(replicas));
  world.now = from_unix_seconds(1'700'000'000);
  Figures out;
  TrainingPlan plan;
  int looks = 0;
  while (static_cast<int>(world.pods.size()) < replicas) {
    const double took = look(world, plan);
    out.all += took;
    ++looks;
    const size_t before = world.pods.size();
    for (const ClientWrite& write : plan.plan.writes) {
      if (write.resource.kind != "Pod") continue;
      Json pod = write.object;
      pod.get_object()["status"] = JsonObject{{"phase", "Running"}};
      world.pods.push_back(replica_pod(world.job, pod, 1));
      world.services.push_back(write.name);
    }
    if (world.pods.size() == before) break;  // nothing more is made: the figures would not end
  }
  out.mean = out.all / looks;
  out.steady = look(world, plan);
  return out;
}

double middle(std::vector<Figures>& rounds, double Figures::*member) {
  std::ranges::sort(rounds, {}, member);
  return rounds[rounds.size() / 2].*member;
}

}  // namespace

std::string measure_plans(int replicas) {
  std::vector<Figures> rounds;
  for (int i = 0; i < kRounds; ++i)
    rounds.push_back(one_round(replicas));
  return fmt::format(R"({{"steady_ms":{:.3f},"making_ms":{:.3f},"all_ms":{:.3f},"failures":0}})",
                     middle(rounds, &Figures::steady), middle(rounds, &Figures::mean),
                     middle(rounds, &Figures::all));
}

}  // namespace yard::bench
