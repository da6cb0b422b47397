#pragma once
// Pods that are played: a test says how a container's runs end. What they were told is kept for the
// checks.

#include <map>
#include <string>
#include <vector>

#include "base/loop.h"
#include "node/pod_runtime.h"

namespace yard {

class SimPodRuntime : public PodRuntime {
 public:
  explicit SimPodRuntime(Loop& loop) : loop_(loop) {}

  void on_change(std::function<void(const std::string& uid)> callback) override {
    changed_.push_back(std::move(callback));
  }
  void recover(std::function<void()> done) override { loop_.post(std::move(done)); }
  const PodRecord* find(std::string_view uid) const override {
    const auto found = records.find(uid);
    return found == records.end() ? nullptr : &found->second;
  }
  std::vector<std::string> pods() const override {
    std::vector<std::string> out;
    for (const auto& [uid, record] : records)
      out.push_back(uid);
    return out;
  }
  void start_pod(PodLaunch launch, std::function<void(Result<void>)> done) override {
    PodRecord& record = records[launch.uid];
    record.uid = launch.uid;
    record.ns = launch.ns;
    record.name = launch.name;
    record.alive = true;
    const std::string uid = launch.uid;
    pod_launches[uid] = std::move(launch);
    ++started_shims;
    loop_.post([done = std::move(done)] { done({}); });
    if (!shims_die) return;
    record.alive = false;
    changed(uid);
  }
  void start(std::string_view uid, ContainerLaunch launch,
             std::function<void(Result<void>)> done) override {
    PodRecord& record = records.find(uid)->second;
    for (const ContainerRun& run : record.runs) {
      if (run.container == launch.container && run.run == launch.run)
        return loop_.post([done = std::move(done)] { done({}); });
    }
    ContainerRun run;
    run.container = launch.container;
    run.run = launch.run;
    run.pid = ++last_pid_;
    run.started = loop_.now();
    record.runs.push_back(std::move(run));
    const std::string container = launch.container;
    launches.push_back(std::move(launch));
    loop_.post([done = std::move(done)] { done({}); });
    changed(std::string(uid));
  }
  void signal(std::string_view uid, std::string_view container, int number) override {
    signals.push_back(std::string(container) + " " + std::to_string(number));
    if (number == 9 || !ignores_term) exit(uid, container, 128 + number);
  }
  void run_command(std::string_view, std::string_view container, std::vector<std::string> argv,
                   Duration, std::function<void(Result<CommandOutcome>)> done) override {
    loop_.post([this, container = std::string(container), argv = std::move(argv),
                done = std::move(done)] { done(play_command(container, argv)); });
  }
  void dial(std::string_view, std::string, int port, Duration,
            std::function<void(Result<int>)> done) override {
    loop_.post([this, port, done = std::move(done)] { done(play_dial(port)); });
  }
  void measure(std::string_view, std::function<void(PodUsage)> done) override {
    loop_.post([this, done = std::move(done)] { done(usage); });
  }
  void replace_files(std::string_view uid, LaunchVolume volume) override {
    replaced[std::string(uid)].push_back(std::move(volume));
  }
  void stop(std::string_view uid) override {
    const auto found = records.find(uid);
    if (found == records.end()) return;
    for (ContainerRun& run : found->second.runs) {
      if (run.is_running()) run.exit = ContainerExit{137, false, false, loop_.now(), ""};
    }
    found->second.alive = false;
    changed(std::string(uid));
  }
  void remove(std::string_view uid) override {
    if (const auto found = records.find(uid); found != records.end() && !found->second.alive)
      records.erase(found);
  }

  // What a test does to a pod.
  void exit(std::string_view uid, std::string_view container, int code) {
    for (ContainerRun& run : records.find(uid)->second.runs) {
      if (run.container == container && run.is_running())
        run.exit = ContainerExit{code, false, false, loop_.now(), ""};
    }
    changed(std::string(uid));
  }
  void touch(const std::string& uid) { changed(uid); }  // as if it had said something
  void kill_shim(std::string_view uid) {
    PodRecord& record = records.find(uid)->second;
    record.alive = false;
    for (ContainerRun& run : record.runs) {
      if (run.is_running()) run.exit = ContainerExit{137, false, true, loop_.now(), ""};
    }
    changed(std::string(uid));
  }

  std::map<std::string, PodRecord, std::less<>> records;
  std::map<std::string, std::vector<LaunchVolume>> replaced;  // by uid, in order
  std::map<std::string, PodLaunch> pod_launches;
  std::vector<ContainerLaunch> launches;
  std::vector<std::string> signals;  // "container number"
  bool ignores_term = false;
  bool shims_die = false;  // before they have started anything
  int started_shims = 0;
  PodUsage usage;  // of every pod
  // How probes and hooks are answered.
  std::function<Result<CommandOutcome>(const std::string& container,
                                       const std::vector<std::string>& argv)>
      play_command = [](const auto&, const auto&) { return CommandOutcome{}; };
  std::function<Result<int>(int port)> play_dial = [](int) -> Result<int> {
    return error(Reason::ServiceUnavailable, "connection refused");
  };

 private:
  void changed(const std::string& uid) {
    loop_.post([this, uid] {
      for (const auto& callback : changed_)
        callback(uid);
    });
  }
  Loop& loop_;
  std::vector<std::function<void(const std::string&)>> changed_;
  int last_pid_ = 100;
};

}  // namespace yard
