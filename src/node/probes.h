#pragma once
// A container's probes as values (kubernetes-core C10): when the next one is due and what its
// results mean. Pure; probe_runner.h asks the container.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/json.h"

namespace yard {

enum class ProbeKind { Startup, Liveness, Readiness };
constexpr std::array<ProbeKind, 3> kProbeKinds{ProbeKind::Startup, ProbeKind::Liveness,
                                               ProbeKind::Readiness};
std::string_view probe_name(ProbeKind kind);  // Startup, Liveness, Readiness

struct ProbeSpec {
  const Json* handler = nullptr;  // the probe itself: exec, httpGet, tcpSocket or grpc in it
  Duration initial_delay{}, period{}, timeout{};
  int failures_needed = 3, successes_needed = 1;
  std::optional<Duration> grace;  // of the end it leads to; otherwise the pod's
};
std::optional<ProbeSpec> probe_of(const Json& container, ProbeKind kind);

// What the results so far say of one run of a container.
struct ProbeState {
  std::optional<bool> healthy;  // settled by as many results in a row as the thresholds ask for
  bool last_good = false;
  int in_row = 0;
  Time next{};             // not before; zero: nothing was asked yet
  bool under_way = false;  // asked, not answered
};

// When the next question is due. A clock that was set back holds none up.
Time probe_due(const ProbeSpec& spec, const ProbeState& state, Time run_started, Time now);
ProbeState after_question(const ProbeSpec& spec, ProbeState state, Time now);
// The state after an answer. `good` is nullopt where the question could not be put: it counts for
// nothing.
ProbeState after_answer(const ProbeSpec& spec, ProbeState state, std::optional<bool> good);

}  // namespace yard
