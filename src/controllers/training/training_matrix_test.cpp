// Every kind under every policy: one table of situations, held for each shape a job can have
// (issue's list: restart policies, success, deadline, back-off, clean-up, TTL, suspension, scale,
// disruption), and the gaps that upstream's own tests leave (kubeflow-jobs 9.4).

#include <gtest/gtest.h>

#include "controllers/training/training_testing.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

// `{0}` is the leader's pod, `{1}` and on those of the others. In pods, policy and plan alike.
struct MatrixCase {
  std::string_view about, restart, policy;  // as under runPolicy
  std::string_view status;
  std::vector<std::string_view> pods;
  Duration later;
  std::string_view plan;
  std::optional<Duration> again = std::nullopt;
};

constexpr std::string_view kRunningStatus =
    "startTime: '2023-11-14T22:13:20Z', conditions: [{type: Created, status: 'True', reason: "
    "@Created}, "
    "{type: Running, status: 'True', reason: @Running}]";
constexpr std::string_view kDone =
    "completionTime: '2023-11-14T22:13:20Z', conditions: [{type: Succeeded, status: 'True'}]";
constexpr std::string_view kFailed =
    "completionTime: '2023-11-14T22:13:20Z', conditions: [{type: Failed, status: 'True', message: "
    "other}]";
constexpr std::string_view kLimit =
    "completionTime: '2023-11-14T22:13:20Z', conditions: [{type: Failed, status: 'True', message: "
    "Job j has failed because it was active longer than specified deadline}]";

// `@` in a reason is the kind.
Json tree_of(const JobShape& shape, std::string_view restart, std::string_view policy,
             std::string_view status) {
  std::string more = fmt::format("{{spec: {{runPolicy: {{{}}}}}, status: {{{}}}}}", policy, status);
  for (size_t at = more.find('@'); at != more.npos; at = more.find('@'))
    more.replace(at, 1, shape.kind);
  return shape.tree(restart, more);
}

TrainingWorld world_of(const JobShape& shape, const MatrixCase& row) {
  std::vector<std::string> named;
  for (const std::string_view pod : row.pods)
    named.push_back(shape.named(pod));
  return training_world(tree_of(shape, row.restart, row.policy, row.status),
                        {named.begin(), named.end()}, kTestNow + row.later);
}

// mpi-operator leaves the launcher's pod: it is the job's log.
std::string expected_of(const JobShape& shape, std::string_view plan) {
  std::string out = shape.named(plan);
  const bool is_over = out.ends_with("Succeeded") || out.ends_with("Failed");
  if (shape.version == "v2beta1" && is_over && out.starts_with("-launcher "))
    out.erase(0, std::string_view("-launcher ").size());
  return out;
}

void hold(std::span<const MatrixCase> cases) {
  for (const JobShape& shape : kJobShapes) {
    for (const MatrixCase& row : cases) {
      SCOPED_TRACE(fmt::format("{}: {}: {}", shape.about(), row.restart, row.about));
      const TrainingWorld world = world_of(shape, row);
      const TrainingPlan planned = plan_training_job(world);
      EXPECT_EQ(short_plan(world, planned), expected_of(shape, row.plan));
      EXPECT_EQ(planned.plan.requeue_after, row.again);
    }
  }
}

// The same for each policy, where that makes no difference.
void hold_under_every_policy(std::vector<MatrixCase> cases) {
  for (const std::string_view restart : {"Never", "OnFailure", "Always", "ExitCode"}) {
    for (MatrixCase& row : cases)
      row.restart = restart;
    hold(cases);
  }
}

const std::vector<std::string_view> kAllRun{"{0} Running", "{1} Running", "{2} Running"};

TEST(TrainingMatrix, PodsAreMadeOnceAndOnlyThoseMissing) {
  hold_under_every_policy({
      {"a new job", "", "", "", {}, 0s, "+{0} +{1} +{2} Created"},
      {"one is missing",
       "",
       "",
       kRunningStatus,
       {"{0} Running", "{2} Running"},
       0s,
       "+{1} Running"},
      {"nothing is", "", "", kRunningStatus, kAllRun, 0s, "Running"},
      {"one too many",
       "",
       "",
       kRunningStatus,
       {"{0} Running", "{1} Running", "{2} Running", "{3} Running"},
       0s,
       "-{3} Running"},
      {"with a gap below it",
       "",
       "",
       kRunningStatus,
       {"{0} Running", "{1} Running", "{2} Running", "{4} Running"},
       0s,
       "-{4} Running"},
  });
}

TEST(TrainingMatrix, ALeadersEnd) {
  const MatrixCase cases[] = {
      {"fails",
       "Never",
       "",
       kRunningStatus,
       {"{0} Failed 1", "{1} Running", "{2} Running"},
       0s,
       "Failed"},
      {"fails as a whole",
       "OnFailure",
       "",
       kRunningStatus,
       {"{0} Failed 1", "{1} Running", "{2} Running"},
       0s,
       "Restarting restarts=1"},
      {"fails as a whole",
       "Always",
       "",
       kRunningStatus,
       {"{0} Failed 1", "{1} Running", "{2} Running"},
       0s,
       "Restarting restarts=1"},
      {"by a code of its own",
       "ExitCode",
       "",
       kRunningStatus,
       {"{0} Failed 1", "{1} Running", "{2} Running"},
       0s,
       "Failed"},
      {"by a signal",
       "ExitCode",
       "",
       kRunningStatus,
       {"{0} Failed 137", "{1} Running", "{2} Running"},
       0s,
       "Restarting restarts=1"},
      {"is evicted",
       "ExitCode",
       "",
       kRunningStatus,
       {"{0} Failed evicted", "{1} Running", "{2} Running"},
       0s,
       "Restarting"},
      {"is evicted",
       "Never",
       "",
       kRunningStatus,
       {"{0} Failed evicted", "{1} Running", "{2} Running"},
       0s,
       "Failed"},
  };
  hold(cases);
}

TEST(TrainingMatrix, SuccessIsTheLeadersOrThatOfAll) {
  hold_under_every_policy({{"all are done",
                            "",
                            "",
                            kRunningStatus,
                            {"{0} Succeeded 0", "{1} Succeeded 0", "{2} Succeeded 0"},
                            0s,
                            "Succeeded"},
                           {"others alone are not enough",
                            "",
                            "",
                            kRunningStatus,
                            {"{0} Running", "{1} Succeeded 0", "{2} Succeeded 0"},
                            0s,
                            "Running"}});
  for (const JobShape& shape : kJobShapes) {
    SCOPED_TRACE(shape.about());
    // Also while the others have not even begun: what waits for the leader waits in vain.
    for (const char* others : {"Running", "Pending", "Pending unstarted", "Failed 1"}) {
      SCOPED_TRACE(others);
      const std::string first = fmt::format("{{1}} {}", others);
      const MatrixCase row{
          "", "Never", "", kRunningStatus, {"{0} Succeeded 0", first, "{2} Running"}, 0s, ""};
      const TrainingWorld world = world_of(shape, row);
      const bool fails = std::string_view(others).starts_with("Failed");
      EXPECT_EQ(short_plan(world, plan_training_job(world)), shape.leader_ends_it ? "Succeeded"
                                                             : fails              ? "Failed"
                                                                                  : "Running");
    }
  }
}

// The end came before the others were placed: none of them is of any use then, and there is no log
// of it to keep. Only who asks for None keeps it, as upstream has it.
TEST(TrainingMatrix, ALeaderThatEndsWhileOthersWait) {
  const std::vector<std::string_view> pods{"{0} Succeeded 0",
                                           "{1} Pending unstarted node=", "{2} Running"};
  const MatrixCase cases[] = {
      {"None", "Never", "cleanPodPolicy: None", kDone, pods, 1h, "Succeeded"},
      {"None, a limit", "Never", "cleanPodPolicy: None", kLimit, pods, 0s, "-{1} !{2} Failed"},
      {"Running", "Never", "cleanPodPolicy: Running", kDone, pods, 0s, "-{1} -{2} Succeeded"},
      {"All", "Never", "cleanPodPolicy: All", kDone, pods, 0s, "-{0} -{1} -{2} Succeeded"},
      {"unset", "Never", "", kDone, pods, 0s, "Succeeded", 30s},
      {"unset: then it goes", "Never", "", kDone, pods, 30s, "-{1} !{2} Succeeded"},
  };
  hold(cases);
}

TEST(TrainingMatrix, TheDeadlineIsATimer) {
  hold_under_every_policy({
      {"waited for", "", "activeDeadlineSeconds: 60", kRunningStatus, kAllRun, 10s, "Running", 50s},
      {"struck without another event", "", "activeDeadlineSeconds: 60", kRunningStatus, kAllRun,
       60s, "Failed"},
      {"pending counts",
       "",
       "activeDeadlineSeconds: 60",
       kRunningStatus,
       {"{0} Pending", "{1} Pending", "{2} Pending"},
       61s,
       "Failed"},
      {"zero strikes at the second look", "", "activeDeadlineSeconds: 0", kRunningStatus, kAllRun,
       0s, "Failed"},
  });
}

TEST(TrainingMatrix, BackOff) {
  const std::vector<std::string_view> failing{"{0} Running", "{1} Failed 137", "{2} Running"};
  for (const std::string_view restart : {"OnFailure", "Always", "ExitCode"}) {
    const std::string once = fmt::format("restarts: 1, {}", kRunningStatus);
    const std::string twice = fmt::format("restarts: 2, {}", kRunningStatus);
    const MatrixCase cases[] = {
        {"0, and nothing failed", restart, "backoffLimit: 0", kRunningStatus, kAllRun, 0s,
         "Running"},
        {"0 allows none", restart, "backoffLimit: 0", kRunningStatus, failing, 0s, "Failed"},
        {"2 allows the second", restart, "backoffLimit: 2", once, failing, 0s,
         "Restarting restarts=2"},
        {"and no third", restart, "backoffLimit: 2", twice, failing, 0s, "Failed restarts=2"},
        {"without a limit there is always another", restart, "", twice, failing, 0s,
         "Restarting restarts=3"},
        {"2 in place of 3",
         restart,
         "backoffLimit: 3",
         kRunningStatus,
         {"{0} Running restarts=1", "{1} Running restarts=1", "{2} Running"},
         0s,
         "Running"},
        {"3 in place of 3, over all pods",
         restart,
         "backoffLimit: 3",
         kRunningStatus,
         {"{0} Running restarts=1", "{1} Running restarts=1", "{2} Running restarts=1"},
         0s,
         "Failed"},
        {"an eviction costs nothing",
         restart,
         "backoffLimit: 0",
         kRunningStatus,
         {"{0} Running", "{1} Failed evicted", "{2} Running"},
         0s,
         "Restarting"},
    };
    hold(cases);
  }
  const MatrixCase never[] = {{"restarts of replicas that have none do not count",
                               "Never",
                               "backoffLimit: 0",
                               kRunningStatus,
                               {"{0} Running restarts=5", "{1} Running", "{2} Running"},
                               0s,
                               "Running"}};
  hold(never);
}

TEST(TrainingMatrix, CleanUp) {
  const std::vector<std::string_view> pods{"{0} Succeeded 0", "{1} Running", "{2} Failed 1"};
  const MatrixCase cases[] = {
      {"All", "Never", "cleanPodPolicy: All", kDone, pods, 0s, "-{0} -{1} -{2} Succeeded"},
      {"All, failed", "Never", "cleanPodPolicy: All", kFailed, pods, 0s, "-{0} -{1} -{2} Failed"},
      {"All, a limit", "Never", "cleanPodPolicy: All", kLimit, pods, 0s, "-{0} -{1} -{2} Failed"},
      {"Running", "Never", "cleanPodPolicy: Running", kDone, pods, 0s, "-{1} Succeeded"},
      {"Running, failed", "Never", "cleanPodPolicy: Running", kFailed, pods, 0s, "-{1} Failed"},
      {"Running, a limit", "Never", "cleanPodPolicy: Running", kLimit, pods, 0s, "-{1} Failed"},
      {"Running, and one would start over", "OnFailure", "cleanPodPolicy: Running", kDone, pods, 0s,
       "-{1} -{2} Succeeded"},
      {"None", "Never", "cleanPodPolicy: None", kDone, pods, 1h, "Succeeded"},
      {"None, failed", "Never", "cleanPodPolicy: None", kFailed, pods, 1h, "Failed"},
      {"None, a limit: stopped, to be read", "Never", "cleanPodPolicy: None", kLimit, pods, 0s,
       "!{1} Failed"},
      {"unset, in a moment", "Never", "", kDone, pods, 29s, "Succeeded", 1s},
      {"unset", "Never", "", kDone, pods, 30s, "!{1} Succeeded"},
      {"unset, failed", "Never", "", kFailed, pods, 30s, "!{1} Failed"},
      {"unset, a limit: at once", "Never", "", kLimit, pods, 0s, "!{1} Failed"},
  };
  hold(cases);
}

TEST(TrainingMatrix, TimeToLive) {
  hold_under_every_policy({
      {"not yet",
       "",
       "cleanPodPolicy: None, ttlSecondsAfterFinished: 100",
       kDone,
       {},
       40s,
       "Succeeded",
       60s},
      {"now",
       "",
       "cleanPodPolicy: None, ttlSecondsAfterFinished: 100",
       kDone,
       {},
       100s,
       "-job Succeeded"},
      {"failed",
       "",
       "cleanPodPolicy: None, ttlSecondsAfterFinished: 100",
       kFailed,
       {},
       100s,
       "-job Failed"},
      {"at once",
       "",
       "cleanPodPolicy: None, ttlSecondsAfterFinished: 0",
       kDone,
       {},
       0s,
       "-job Succeeded"},
      {"without one it stays", "", "cleanPodPolicy: None", kDone, {}, 10000h, "Succeeded"},
  });
}

// Upstream forgets the time of such an end, after which its TTL never comes.
TEST(TrainingMatrix, ATtlFollowsAPermanentExitCode) {
  for (const JobShape& shape : kJobShapes) {
    SCOPED_TRACE(shape.about());
    const MatrixCase row{"",
                         "ExitCode",
                         "ttlSecondsAfterFinished: 10",
                         kRunningStatus,
                         {"{0} Running", "{1} Failed 2", "{2} Running"},
                         0s,
                         "Failed"};
    const TrainingWorld world = world_of(shape, row);
    const Json ended = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(states_of(ended), "Created Running=False Failed");
    EXPECT_EQ(text_at(ended, {"status", "completionTime"}), rfc3339(kTestNow));
    const TrainingWorld later = training_world(ended, {}, kTestNow + 10s);
    EXPECT_EQ(short_plan(later, plan_training_job(later)), "-job Failed");
  }
}

TEST(TrainingMatrix, SuspendAndResume) {
  hold_under_every_policy({
      {"created so", "", "suspend: true", "", {}, 0s, "Suspended"},
      {"while it runs", "", "suspend: true", kRunningStatus, kAllRun, 0s,
       "-{0} -{1} -{2} Suspended"},
      {"finished pods go too",
       "",
       "suspend: true, cleanPodPolicy: None",
       kRunningStatus,
       {"{0} Running", "{1} Succeeded 0", "{2} Failed 1"},
       0s,
       "-{0} -{1} -{2} Suspended"},
      {"a deadline does not run on",
       "",
       "suspend: true, activeDeadlineSeconds: 5",
       kRunningStatus,
       {},
       1h,
       "Suspended"},
      {"one that is over ignores it",
       "",
       "suspend: true, cleanPodPolicy: None",
       kDone,
       {},
       0s,
       "Succeeded"},
  });
  for (const JobShape& shape : kJobShapes) {
    SCOPED_TRACE(shape.about());
    const MatrixCase row{"", "OnFailure", "suspend: true", "", {}, 0s, ""};
    TrainingWorld world = world_of(shape, row);
    Json tree = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(states_of(tree), "Created Suspended");
    EXPECT_EQ(find_path(tree, {"status", "startTime"}), nullptr);
    tree = changed(tree, "spec: {runPolicy: {suspend: false}}");
    world = training_world(tree, {}, kTestNow + 5s);
    tree = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(states_of(tree), "Created Suspended=False");
    EXPECT_EQ(text_at(tree, {"status", "startTime"}), rfc3339(kTestNow + 5s));
    world = training_world(tree, {}, kTestNow + 5s);
    EXPECT_EQ(short_plan(world, plan_training_job(world)),
              shape.named("+{0} +{1} +{2} Suspended=False"));
    const std::string leader = shape.named("{0} Running");
    world = training_world(tree, {leader}, kTestNow + 6s);
    tree = planned_tree(world, plan_training_job(world));
    EXPECT_EQ(states_of(tree), "Created Suspended=False Running");
    tree = changed(tree, "spec: {runPolicy: {suspend: true}}");
    world = training_world(tree, {leader}, kTestNow + 7s);
    const TrainingPlan held = plan_training_job(world);
    EXPECT_EQ(held.plan.events.size(), 1u);
    tree = planned_tree(world, held);
    EXPECT_EQ(states_of(tree), "Created Running=False Suspended");
    EXPECT_EQ(text_at(tree, {"status", "startTime"}), rfc3339(kTestNow + 5s)) << "kept";
    world = training_world(tree, {}, kTestNow + 8s);
    EXPECT_TRUE(plan_training_job(world).plan.is_nothing()) << "told once";
  }
}

struct ScaleCase {
  std::string_view about;
  int change;  // of the type of the others
  std::vector<std::string_view> pods;
  std::string_view plan;
};

TEST(TrainingMatrix, Scale) {
  const ScaleCase cases[] = {
      {"two more", 2, {"{0} Running", "{1} Running", "{2} Running"}, "+{3} +{4} Running"},
      {"one less", -1, {"{0} Running", "{1} Running", "{2} Running"}, "-{2} Running"},
      {"two less", -2, {"{0} Running", "{1} Running", "{2} Running"}, "-{2} -{1} Running"},
      {"and no gap is filled", -2, {"{0} Running", "{2} Running"}, "-{2} Running"},
  };
  for (const JobShape& shape : kJobShapes) {
    for (const ScaleCase& row : cases) {
      SCOPED_TRACE(fmt::format("{}: {}", shape.about(), row.about));
      std::vector<std::string> named;
      for (const std::string_view pod : row.pods)
        named.push_back(shape.named(pod));
      const Json tree =
          changed(tree_of(shape, "OnFailure", "", kRunningStatus),
                  fmt::format("spec: {{{}: {{{}: {{replicas: {}}}}}}}",
                              training_kind(shape.kind, "v1")->replicas, shape.type_of_others(),
                              (shape.other.empty() ? 3 : 2) + row.change));
      const TrainingWorld world = training_world(tree, {named.begin(), named.end()});
      EXPECT_EQ(short_plan(world, plan_training_job(world)), shape.named(row.plan));
    }
  }
}

// What takes pods away, by policy; whoever it hits. Upstream fails whole jobs for most of this.
TEST(TrainingMatrix, Disruption) {
  struct Row {
    std::string_view about, pod, never, otherwise;
  };
  const Row rows[] = {
      {"somebody deletes it while it runs", "Running deleting", "Running", "Running"},
      {"it ends as failed on its way out", "Failed 143 deleting", "Running", "Running"},
      {"before it has begun", "Pending deleting", "Running", "Running"},
      {"evicted", "Failed evicted", "Failed", "Restarting"},
      {"evicted by a signal", "Failed 137 evicted", "Failed", "Restarting"},
      {"evicted and on its way out", "Failed evicted deleting", "Failed", "Running"},
  };
  for (const JobShape& shape : kJobShapes) {
    for (const Row& row : rows) {
      for (const int hit : {0, 1, 2}) {
        for (const std::string_view restart : {"Never", "OnFailure", "Always", "ExitCode"}) {
          SCOPED_TRACE(
              fmt::format("{}: {}: {} {}", shape.about(), restart, shape.pod(hit), row.about));
          std::vector<std::string> pods;
          for (const int number : {0, 1, 2})
            pods.push_back(
                fmt::format("{} {}", shape.pod(number), number == hit ? row.pod : "Running"));
          const TrainingWorld world =
              training_world(tree_of(shape, restart, "backoffLimit: 0", kRunningStatus),
                             {pods.begin(), pods.end()});
          const TrainingPlan planned = plan_training_job(world);
          EXPECT_EQ(short_plan(world, planned), restart == "Never" ? row.never : row.otherwise);
          pods.erase(pods.begin() + hit);
          const Json next = planned_tree(world, planned);
          const TrainingWorld gone = training_world(next, {pods.begin(), pods.end()});
          if (states_of(next).ends_with("Failed")) continue;
          EXPECT_TRUE(short_plan(gone, plan_training_job(gone))
                          .starts_with(fmt::format("+{} R", shape.pod(hit))))
              << "it comes again";
        }
      }
    }
  }
}

TEST(TrainingMatrix, ALostNodeLetsItsPodsGo) {
  for (const JobShape& shape : kJobShapes) {
    SCOPED_TRACE(shape.about());
    const std::string lost = shape.named("{1} Running deleting node=n2"),
                      well = shape.named("{0} Running"), other = shape.named("{2} Running");
    TrainingWorld world = training_world(tree_of(shape, "OnFailure", "", kRunningStatus),
                                         {well, lost, other}, kTestNow + 10s);
    EXPECT_EQ(short_plan(world, plan_training_job(world)), "Running") << "its node is well";
    world.lost_nodes = {"n2"};
    EXPECT_EQ(plan_training_job(world).plan.requeue_after, Duration(50s));
    world.now = kTestNow + 60s;
    EXPECT_EQ(short_plan(world, plan_training_job(world)), shape.named("x{1} Running"));
  }
}

// R9: who is done stays done, unless the whole job begins anew.
TEST(TrainingMatrix, ACompletedReplicaIsNotRunAgain) {
  for (const JobShape& shape : kJobShapes) {
    SCOPED_TRACE(shape.about());
    const std::string well = shape.named("{0} Running"), done = shape.named("{1} Succeeded 0"),
                      other = shape.named("{2} Running");
    TrainingWorld world =
        training_world(tree_of(shape, "OnFailure", "", kRunningStatus), {well, done, other});
    const Json next = planned_tree(world, plan_training_job(world));
    world = training_world(next, {well, other});
    EXPECT_EQ(short_plan(world, plan_training_job(world)), "Running");
  }
}

// R1: the order of maps in a request decides nothing.
TEST(TrainingMatrix, ThePlanDoesNotHangOnTheOrderOfMaps) {
  for (const JobShape& shape : kJobShapes) {
    if (shape.other.empty()) continue;
    SCOPED_TRACE(shape.about());
    Json turned = shape.tree("OnFailure");
    const std::string_view map = training_kind(shape.kind, "v1")->replicas;
    JsonObject& types = turned.at("spec").at(map).get_object();
    const Json leader = types.at(shape.leader);
    types.erase(shape.leader);
    types[shape.leader] = leader;
    const TrainingWorld one = training_world(shape.tree("OnFailure")), two = training_world(turned);
    const TrainingPlan first = plan_training_job(one), second = plan_training_job(two);
    ASSERT_EQ(first.plan.writes.size(), second.plan.writes.size());
    for (size_t i = 0; i < first.plan.writes.size(); ++i) {
      EXPECT_EQ(to_text(first.plan.writes[i]), to_text(second.plan.writes[i]));
      EXPECT_EQ(to_text(first.plan.writes[i].object), to_text(second.plan.writes[i].object));
    }
  }
}

}  // namespace
}  // namespace yard
