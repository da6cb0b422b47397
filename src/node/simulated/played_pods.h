#pragma once
// Pods that are played, not run: what a simulated node has in place of processes. A pod says in its
// annotation how long its containers run and how they end.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "node/pod_runtime.h"

namespace yard {

// `trainyard.dev/play: run=5s,exit=1`. Without the annotation a pod runs ten seconds and succeeds;
// `run=forever` ends only when told to.
struct PlayRule {
  std::optional<Duration> run_for = std::chrono::seconds(10);  // nullopt: until it is ended
  int exit_code = 0;
};
inline constexpr std::string_view kPlayAnnotation = "trainyard.dev/play";
Result<PlayRule> parse_play(std::string_view text);

class PlayedPodRuntime : public PodRuntime {
 public:
  explicit PlayedPodRuntime(Loop& loop) : loop_(loop) {}
  ~PlayedPodRuntime() override { *alive_ = false; }

  void on_change(std::function<void(const std::string& uid)> callback) override {
    changed_.push_back(std::move(callback));
  }
  void recover(std::function<void()> done) override { loop_.post(std::move(done)); }
  const PodRecord* find(std::string_view uid) const override;
  std::vector<std::string> pods() const override;
  void start_pod(PodLaunch launch, std::function<void(Result<void>)> done) override;
  void start(std::string_view uid, ContainerLaunch launch,
             std::function<void(Result<void>)> done) override;
  void signal(std::string_view uid, std::string_view container, int signal) override;
  void run_command(std::string_view uid, std::string_view container, std::vector<std::string> argv,
                   Duration timeout, std::function<void(Result<CommandOutcome>)> done) override;
  void dial(std::string_view uid, std::string host, int port, Duration timeout,
            std::function<void(Result<int>)> done) override;
  void measure(std::string_view, std::function<void(PodUsage)> done) override {
    loop_.post([done = std::move(done)] { done({}); });
  }
  void replace_files(std::string_view, LaunchVolume) override {}
  void stop(std::string_view uid) override;
  void remove(std::string_view uid) override;

 private:
  struct Played {
    PodRecord record;
    PlayRule rule;
  };
  void end_run(const std::string& uid, const std::string& container, int run, int code);
  void report(const std::string& uid);

  Loop& loop_;
  std::map<std::string, Played, std::less<>> pods_;
  std::vector<std::function<void(const std::string&)>> changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
