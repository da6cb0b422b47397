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
