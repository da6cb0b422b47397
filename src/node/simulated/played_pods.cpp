#include "node/simulated/played_pods.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

Result<PlayRule> parse_play(std::string_view text) {
  PlayRule out;
  if (trim(text).empty()) return out;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trim(part);
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (key == "run" && value == "forever") {
      out.run_for.reset();
    } else if (const auto length = parse_go_duration(value);
               key == "run" && length && *length >= Duration{}) {
      out.run_for = *length;
    } else if (const auto code = parse_int64(value);
               key == "exit" && code && *code >= 0 && *code <= 255) {
      out.exit_code = static_cast<int>(*code);
    } else {
      return error(Reason::BadRequest,
                   fmt::format("annotation {}: \"{}\" is not understood: write run=5s or "
                               "run=forever, and exit=0 to exit=255, with a comma between",
                               kPlayAnnotation, word));
    }
  }
  return out;
}

const PodRecord* PlayedPodRuntime::find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second.record;
}

std::vector<std::string> PlayedPodRuntime::pods() const {
  std::vector<std::string> out;
  out.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_)
    out.push_back(uid);
  return out;
}

void PlayedPodRuntime::start_pod(PodLaunch launch, std::function<void(Result<void>)> done) {
  auto rule = parse_play(launch.play);
  if (!rule) {
    return loop_.post([why = rule.error(), done = std::move(done)] { done(why); });
  }
  Played& pod = pods_[launch.uid];
  pod.rule = *rule;
  pod.record.uid = launch.uid;
  pod.record.ns = launch.ns;
  pod.record.name = launch.name;
  pod.record.alive = true;
  loop_.post([done = std::move(done)] { done({}); });
}

void PlayedPodRuntime::start(std::string_view uid, ContainerLaunch launch,
                             std::function<void(Result<void>)> done) {
  loop_.post([done = std::move(done)] { done({}); });
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  PodRecord& record = found->second.record;
  for (const ContainerRun& run : record.runs) {
    if (run.container == launch.container && run.run == launch.run) return;
  }
  ContainerRun run;
  run.container = launch.container;
  run.run = launch.run;
  run.started = loop_.now();
  record.runs.push_back(run);
  report(record.uid);
  if (const PlayRule& rule = found->second.rule; rule.run_for) {
    loop_.after(*rule.run_for,
                [this, alive = alive_, uid = record.uid, run, code = rule.exit_code] {
                  if (*alive) end_run(uid, run.container, run.run, code);
                });
  }
}

void PlayedPodRuntime::end_run(const std::string& uid, const std::string& container, int run,
                               int code) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  for (ContainerRun& each : found->second.record.runs) {
    if (each.container != container || each.run != run || !each.is_running()) continue;
    each.exit = ContainerExit{code, false, false, loop_.now(), ""};
    report(uid);
  }
}

void PlayedPodRuntime::signal(std::string_view uid, std::string_view container, int number) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  if (const ContainerRun* newest = found->second.record.newest_run(container))
    end_run(std::string(uid), std::string(container), newest->run, 128 + number);
}

void PlayedPodRuntime::run_command(std::string_view, std::string_view, std::vector<std::string>,
                                   Duration, std::function<void(Result<CommandOutcome>)> done) {
  loop_.post([done = std::move(done)] { done(CommandOutcome{}); });  // probes and hooks succeed
}

void PlayedPodRuntime::dial(std::string_view, std::string, int, Duration,
                            std::function<void(Result<int>)> done) {
  loop_.post([done = std::move(done)] {
    done(error(Reason::ServiceUnavailable,
               "this pod is played on a simulated node: nothing listens"));
  });
}

void PlayedPodRuntime::stop(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  for (ContainerRun& run : found->second.record.runs) {
    if (run.is_running()) run.exit = ContainerExit{137, false, false, loop_.now(), ""};
  }
  found->second.record.alive = false;
  report(found->second.record.uid);
}

void PlayedPodRuntime::remove(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found != pods_.end() && !found->second.record.alive) pods_.erase(found);
}

void PlayedPodRuntime::report(const std::string& uid) {
  loop_.post([this, uid, alive = alive_] {
    if (!*alive) return;
    for (const auto& callback : changed_)
      callback(uid);
  });
}

}  // namespace yard
