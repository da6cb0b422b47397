#include "node/training_environment.h"

#include <gtest/gtest.h>

#include "testing/objects.h"

namespace yard {
namespace {

struct Case {
  const char* about;
  const char* ranks;      // "": not a training pod
  const char* container;  // YAML
  Environment before;
  Environment added;
};

TEST(TrainingEnvironment, PodsOfAJobShareMemory) {
  const char* const owned = "ownerReferences: [{uid: u-1, controller: true}]";
  const struct {
    const char* about;
    std::string metadata, spec;
    const char* group;
  } cases[] = {
      {"ranks of one job", "annotations: {trainyard.dev/gang-size: '2'}", "", "ns_u-1"},
      {"an annotation turns it off",
       "annotations: {trainyard.dev/gang-size: '2', trainyard.dev/share-memory: 'false'}", "", ""},
      {"the machine's own is shared with everybody", "annotations: {trainyard.dev/gang-size: '2'}",
       "hostIPC: true", ""},
      {"no training job", "annotations: {}", "", ""},
  };
  for (const auto& row : cases) {
    const Json pod = yaml("metadata: {namespace: ns, " + std::string(owned) + ", " + row.metadata +
                          "}\nspec: {" + row.spec + "}");
    EXPECT_EQ(memory_group(pod), row.group) << row.about;
    Environment environment;
    add_training_defaults(environment, pod, yaml("{}"), 8);
    const bool has_id = std::ranges::any_of(
        environment, [](const auto& entry) { return entry.first == "NCCL_HOSTID"; });
    EXPECT_EQ(has_id, std::string_view(row.group) != "" || !row.spec.empty()) << row.about;
  }
  const Json climbing = yaml(
      "metadata: {namespace: ns, ownerReferences: [{uid: ../../x, controller: true}], annotations: "
      "{trainyard.dev/gang-size: '2'}}");
  EXPECT_EQ(memory_group(climbing), "") << "an owner's uid is a client's text";
}

TEST(TrainingEnvironment, RanksShareTheCores) {
  const Case cases[] = {
      {"eight cores, two ranks", "2", "{}", {}, {{"OMP_NUM_THREADS", "4"}, {"NCCL_HOSTID", "u"}}},
      {"more ranks than cores: one each",
       "20",
       "{}",
       {},
       {{"OMP_NUM_THREADS", "1"}, {"NCCL_HOSTID", "u"}}},
      {"a limit is not exceeded",
       "2",
       "{resources: {limits: {cpu: 1500m}}}",
       {},
       {{"OMP_NUM_THREADS", "2"}, {"NCCL_HOSTID", "u"}}},
      {"what the container says stays",
       "2",
       "{}",
       {{"OMP_NUM_THREADS", "7"}},
       {{"OMP_NUM_THREADS", "7"}, {"NCCL_HOSTID", "u"}}},
      {"other pods get nothing", "", "{}", {}, {}},
      {"nonsense is nothing", "-1", "{}", {}, {}},
  };
  for (const Case& row : cases) {
    Json pod = yaml("metadata: {ownerReferences: [{uid: u, controller: true}], annotations: {}}");
    if (*row.ranks != '\0')
      pod.at("metadata").at("annotations").as_object()[kReplicasAnnotation] = row.ranks;
    Environment environment = row.before;
    add_training_defaults(environment, pod, yaml(row.container), 8);
    EXPECT_EQ(environment, row.added) << row.about;
  }
}

}  // namespace
}  // namespace yard
