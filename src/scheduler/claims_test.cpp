#include "scheduler/claims.h"

#include <gtest/gtest.h>

#include "api/tree.h"
#include "base/strings.h"
#include "testing/objects.h"

namespace yard {
namespace {

TEST(Claims, HoldAPodUntilTheyAreBound) {
  const Json pod = yaml(
      "{spec: {volumes: [{name: tmp, emptyDir: {}}, {name: v, persistentVolumeClaim: {claimName: "
      "x}}]}}");
  const char* const immediate = "{volumeBindingMode: Immediate}";
  const char* const later = "{volumeBindingMode: WaitForFirstConsumer}";
  const struct {
    const char* about;
    const char* claim;
    const char* storage_class;
    const char* obstacle;
    const char* waiting;
  } cases[] = {
      {"a bound claim stands in nobody's way", "{status: {phase: Bound}}", immediate, "", ""},
      {"one that is not there", "", immediate, "persistentvolumeclaim \"x\" not found", ""},
      {"one that waits for a volume", "{status: {phase: Pending}}", immediate,
       "pod has unbound immediate PersistentVolumeClaims", ""},
      {"one that waits for this pod", "{status: {phase: Pending}}", later, "", "x"},
      {"one without a class", "{status: {phase: Pending}}", "",
       "pod has unbound immediate PersistentVolumeClaims", ""},
      {"one on its way out",
       "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}, status: {phase: Bound}}", immediate,
       "persistentvolumeclaim \"x\" is being deleted", ""},
      {"one whose volume is gone", "{spec: {volumeName: v}, status: {phase: Lost}}", immediate,
       "persistentvolumeclaim \"x\" bound to non-existent persistentvolume \"v\"", ""},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.about);
    const PodClaims claims =
        judge_claims(claim_names(pod), [&](std::string_view kind, std::string_view) {
          const std::string_view text =
              kind == "PersistentVolumeClaim" ? each.claim : each.storage_class;
          return text.empty() ? Json() : yaml(text);
        });
    EXPECT_EQ(claims.obstacle, each.obstacle);
    EXPECT_EQ(join(claims.waiting, ","), each.waiting);
  }
}

}  // namespace
}  // namespace yard
