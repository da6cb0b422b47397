#pragma once
// The moment and the pod that the tables of plan_pod's tests speak of.

#include "base/time.h"

namespace yard {

inline const Time kPlanNow = from_unix_seconds(1'700'000'000);

// Seconds before now.
inline Time ago(int seconds) {
  return kPlanNow - std::chrono::seconds(seconds);
}

inline constexpr const char* kPlannedPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns, uid: u}
spec:
  nodeName: here
  restartPolicy: Always
  terminationGracePeriodSeconds: 30
  containers: [{name: c, image: i, command: [x]}]
status: {phase: Pending}
)";

}  // namespace yard
