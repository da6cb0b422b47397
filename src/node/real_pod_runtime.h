#pragma once
// Pods as processes: one shim each in <state>/run/<uid>/, its logs in <state>/logs/.

#include <map>
#include <memory>

#include "base/loop.h"
#include "node/cgroup_folders.h"
#include "node/launch_files.h"
#include "node/network/pod_network.h"
#include "node/pod_runtime.h"
#include "node/shim_calls.h"
#include "node/shim_template.h"

namespace yard {

class RealPodRuntime : public PodRuntime {
 public:
  // `shim` is the path of the installed executable (node/shim_program.h).
  RealPodRuntime(Loop& loop, std::string state_folder, std::string shim, PodNetwork& network);
  ~RealPodRuntime() override;  // leaves every pod running

  void on_change(std::function<void(const std::string& uid)> callback) override {
    changed_.push_back(std::move(callback));
  }
  void recover(std::function<void()> done) override;
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
  void measure(std::string_view uid, std::function<void(PodUsage)> done) override;
  // For streams that outlast an answer: kubectl exec.
  void start_command(std::string_view uid, std::string_view container, CommandLaunch launch,
                     std::function<void(Result<StartedCommand>)> done);
  void take_input(std::string_view uid, std::string_view container,
                  std::function<void(Result<Descriptor>)> done);
  void replace_files(std::string_view uid, LaunchVolume volume) override;
  void stop(std::string_view uid) override;
  void remove(std::string_view uid) override;

  // What of control groups this machine refuses, a sentence each.
  const std::vector<std::string>& refusals() const { return cgroups_.refusals; }
  // Where the log of a run lies, for whoever reads it.
  std::string log_path(std::string_view ns, std::string_view name, std::string_view uid,
                       std::string_view container, int run) const;

 private:
  struct Pod {
    PodLaunch launch;  // what runs need of it: names, hostPath volumes, hosts
    PodFolders folders;
    PodRecord record;
    int socket = -1;
    int child = 0;  // the shim's pid when we started it
    int net = -1;   // its network namespace, while it may serve another pod
    bool told_to_stop = false;
    size_t journal_read = 0;
  };
  PodFolders folders_of(const PodLaunch& launch) const;  // of a pod that starts now
  Pod* find_pod(std::string_view uid);
  int socket_of(std::string_view uid) const;  // -1: no shim
  void adopt(const std::string& uid);
  struct Start;
  void prepare_network(const std::shared_ptr<Start>& start, std::function<void()> next);
  void take_started(Start& start);
  static Result<void> write_pod_files(const Start& start, const std::string& boot_id);
  static Result<void> bear_shim(Start& start, ShimTemplate& shims);
  void watch(Pod& pod, int socket);
  void on_readable(const std::string& uid);
  void read_journal(Pod& pod);
  void read_message(const Pod& pod, ContainerRun& run) const;
  void shim_ended(Pod& pod);
  void keep_network(Pod& pod, int net);
  int network_to_give_back(Pod& pod);
  void sweep_after(const Pod& pod, int child, int net);
  Result<void> tell(Pod& pod, const std::string& message);
  void report(const std::string& uid);
  void remove_files(const std::string& uid, const PodFolders& folders, const std::string& job_list,
                    bool with_logs);

  Loop& loop_;
  std::string state_, boot_id_;
  std::string transient_;  // where new pods have what need not last; "": in their run folders
  PodNetwork& network_;
  CgroupPlace cgroups_;
  std::shared_ptr<ShimTemplate> shims_;  // also of starts that outlast us
  ShimCalls shim_calls_;
  std::map<std::string, std::unique_ptr<Pod>, std::less<>> pods_;
  // Pods whose files are being removed, and who waits to start under the same uid.
  std::map<std::string, std::vector<Task>, std::less<>> removals_;
  std::vector<std::function<void(const std::string&)>> changed_;
  std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // false once we are gone; late answers look at it
};

}  // namespace yard
