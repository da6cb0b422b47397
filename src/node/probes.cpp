#include "node/probes.h"

#include <algorithm>

#include "api/tree.h"

namespace yard {
namespace {

const char* member_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup: return "startupProbe";
    case ProbeKind::Liveness: return "livenessProbe";
    case ProbeKind::Readiness: break;
  }
  return "readinessProbe";
}

Duration seconds_at(const Json& probe, const char* member, int64_t otherwise, int64_t least) {
  return std::chrono::seconds(
      std::clamp<int64_t>(int_at(probe, {member}, otherwise), least, 1'000'000'000));
}

int count_at(const Json& probe, const char* member, int64_t otherwise) {
  return static_cast<int>(
      std::clamp<int64_t>(int_at(probe, {member}, otherwise), 1, 1'000'000'000));
}

}  // namespace

std::string_view probe_name(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup: return "Startup";
    case ProbeKind::Liveness: return "Liveness";
    case ProbeKind::Readiness: break;
  }
  return "Readiness";
}

std::optional<ProbeSpec> probe_of(const Json& container, ProbeKind kind) {
  const Json* probe = find(container, member_of(kind));
  if (probe == nullptr || !probe->is_object()) return std::nullopt;
  ProbeSpec out;
  out.handler = probe;
  out.initial_delay = seconds_at(*probe, "initialDelaySeconds", 0, 0);
  out.period = seconds_at(*probe, "periodSeconds", 10, 1);
  out.timeout = seconds_at(*probe, "timeoutSeconds", 1, 1);
  out.failures_needed = count_at(*probe, "failureThreshold", 3);
  out.successes_needed = count_at(*probe, "successThreshold", 1);
  if (find(*probe, "terminationGracePeriodSeconds") != nullptr)
    out.grace = seconds_at(*probe, "terminationGracePeriodSeconds", 30, 1);
  return out;
}

Time probe_due(const ProbeSpec& spec, const ProbeState& state, Time run_started, Time now) {
  if (state.next > now + spec.period || run_started > now) return now;
  return std::max(state.next, run_started + spec.initial_delay);
}

ProbeState after_question(const ProbeSpec& spec, ProbeState state, Time now) {
  state.under_way = true;
  state.next = now + spec.period;
  return state;
}

ProbeState after_answer(const ProbeSpec& spec, ProbeState state, std::optional<bool> good) {
  state.under_way = false;
  if (!good) return state;
  state.in_row = state.in_row > 0 && state.last_good == *good ? state.in_row + 1 : 1;
  state.last_good = *good;
  if (state.in_row >= (*good ? spec.successes_needed : spec.failures_needed)) state.healthy = *good;
  return state;
}

}  // namespace yard
