#include "node/usage_meter.h"

#include <algorithm>

namespace yard {
namespace {

constexpr Duration kLeastWindow = std::chrono::milliseconds(500);
constexpr Duration kLongestWindow = std::chrono::minutes(1);

}  // namespace

UsageReport usage_between(const UsageSample& before, const UsageSample& after, int64_t cpus) {
  UsageReport out;
  out.at = after.at;
  out.window = std::max<Duration>(std::chrono::milliseconds(1), after.at - before.at);
  const double seconds = std::chrono::duration<double>(out.window).count();
  for (const ContainerUsage& now : after.containers) {
    Use& use = out.pods[now.pod_uid][now.container];
    use.memory_bytes = now.memory_bytes;
    const auto then = std::ranges::find_if(before.containers, [&](const ContainerUsage& each) {
      return each.pod_uid == now.pod_uid && each.container == now.container;
    });
    // One that began anew counts from nothing.
    const int64_t since =
        then == before.containers.end() || then->cpu_nanoseconds > now.cpu_nanoseconds
            ? 0
            : then->cpu_nanoseconds;
    use.nanocores =
        static_cast<int64_t>(static_cast<double>(now.cpu_nanoseconds - since) / seconds);
  }
  const int64_t all = std::max<int64_t>(1, after.machine.all_ticks - before.machine.all_ticks);
  const int64_t busy = std::max<int64_t>(0, after.machine.busy_ticks - before.machine.busy_ticks);
  out.machine.nanocores = static_cast<int64_t>(
      static_cast<double>(busy) / static_cast<double>(all) * 1e9 * static_cast<double>(cpus));
  out.machine.memory_bytes = after.machine.memory_bytes;
  return out;
}

void UsageMeter::look(std::function<void(UsageSample)> done) {
  std::vector<ContainerProcess> processes;
  for (const std::string& uid : runtime_.pods()) {
    const PodRecord* record = runtime_.find(uid);
    if (record == nullptr || !record->alive) continue;
    for (const ContainerRun& run : record->runs) {
      if (run.is_running()) processes.push_back({uid, run.container, run.pid});
    }
  }
  auto sample = std::make_shared<UsageSample>();
  loop_.run_blocking(
      [look = look_, sample, processes = std::move(processes)] { *sample = look(processes); },
      [sample, alive = alive_, done = std::move(done)] {
        if (*alive) done(std::move(*sample));
      });
}

void UsageMeter::measure(std::function<void(const UsageReport&)> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  if (node_.empty())
    return loop_.post([this, alive = alive_] {
      if (*alive) answer({});
    });
  const Time now = loop_.now();
  const bool has_old = before_ && before_->at <= now && now - before_->at <= kLongestWindow;
  const auto second = [this] { look([this](const UsageSample& after) { answer(after); }); };
  if (has_old) {
    loop_.after(std::max<Duration>(Duration{}, before_->at + kLeastWindow - now),
                [alive = alive_, second] {
                  if (*alive) second();
                });
    return;
  }
  look([this, second](UsageSample first) {
    before_ = std::move(first);
    loop_.after(kLeastWindow, [alive = alive_, second] {
      if (*alive) second();
    });
  });
}

void UsageMeter::answer(const UsageSample& after) {
  UsageReport report = usage_between(before_.value_or(UsageSample{}), after, cpus_);
  report.node = node_;
  before_ = after;
  for (const auto& done : std::exchange(waiting_, {}))
    done(report);
}

UsageMeter::Look look_at_machine(std::string state_folder, const Loop& loop) {
  return [state = std::move(state_folder), &loop](const std::vector<ContainerProcess>& processes) {
    UsageSample out;
    out.containers = container_usage(state, processes);
    out.machine = machine_usage();
    out.at = loop.now();
    return out;
  };
}

}  // namespace yard
