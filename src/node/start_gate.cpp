#include "node/start_gate.h"

#include <algorithm>

#include "api/tree.h"
#include "base/strings.h"

namespace yard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLongest = seconds(5);  // after the master runs, or when there is none
constexpr Duration kAnnounceAfter = seconds(2);
constexpr Duration kShortestPause = milliseconds(20), kLongestPause = milliseconds(250);

// Short while the wait is young.
Duration pause_after(Duration waited) {
  return std::clamp<Duration>(waited / 8, kShortestPause, kLongestPause);
}

std::optional<Time> first_start(const Json& pod) {
  std::optional<Time> first;
  for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
    const auto started = time_at(status, {"state", "running", "startedAt"});
    if (started && (!first || *started < *first)) first = started;
  }
  return first;
}

}  // namespace

std::optional<GateAddress> gate_address(const Json& pod) {
  const std::string_view text = text_at(pod, {"metadata", "annotations", kWaitForAnnotation});
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = parse_int64(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  return GateAddress{std::string(text.substr(0, colon)), static_cast<int>(*port)};
}

AwaitedPod awaited_pod(const Json& pod) {
  AwaitedPod out;
  if (!pod.is_object()) return out;
  out.exists = true;
  const std::string_view phase = text_at(pod, {"status", "phase"});
  out.ended = phase == "Succeeded" || phase == "Failed";
  out.address = text_at(pod, {"status", "podIP"});
  if (phase == "Running") out.runs_since = first_start(pod);
  return out;
}

GateStep gate_step(const StartGate& gate, const AwaitedPod& awaited, Time now) {
  GateStep step;
  const Time began = gate.began.value_or(now);
  // Nobody is there to wait for: somebody may be about to make that pod, but not for ever.
  const std::optional<Time> bound = awaited.exists ? awaited.runs_since : began;
  const bool is_over = gate.opened || awaited.ended || (bound && now >= *bound + kLongest);
  const bool runs = awaited.runs_since && !awaited.address.empty();
  if (is_over || runs) {
    step.opens = true;
    if (!is_over) step.holds_until = *awaited.runs_since + kLongest;
    return step;
  }
  const auto look_at = [&](Time at) {
    step.look_again = std::min(step.look_again.value_or(at), at);
  };
  step.announce = !gate.announced && now >= began + kAnnounceAfter;
  if (!gate.announced && !step.announce) look_at(began + kAnnounceAfter);
  if (bound) look_at(*bound + kLongest);
  look_at(now + pause_after(now - began));
  return step;
}

}  // namespace yard
