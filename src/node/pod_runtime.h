#pragma once
// The agent's only way to touch processes. RealPodRuntime starts one shim a pod (node/shim); a
// simulation plays pods with SimPodRuntime (tests/sim). Whatever runs goes on when the server dies:
// a new one asks recover() what is there. Loop thread; a callback never runs before the call that
// leads to it has returned.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace yard {

struct LaunchFile {
  std::string path;  // below the volume
  std::string content;
  int mode = 0644;
};

// A volume of a pod, made before its first container starts and removed with the pod.
struct LaunchVolume {
  enum class Type { Empty, Memory, Files, HostPath };
  std::string name;
  Type type = Type::Empty;
  uint64_t bytes = 0;  // of Memory; 0: the kernel's own bound
  std::vector<LaunchFile>
      files;  // of Files, published as ..data links so that they can change in one step
  std::string path, path_type;   // of HostPath: Directory, FileOrCreate ...
  std::optional<int64_t> group;  // fsGroup
};

// Whether mounts made below a volume later are seen on the other side.
enum class MountPropagation { None, FromHost, BothWays };

// A volume that a container sees at `target`.
struct LaunchMount {
  std::string volume;  // "": `host_path` instead, of an image's entry
  std::string target;
  std::string sub_path;  // below the volume, made where missing; never leads out of it
  bool read_only = false;
  std::string host_path = {};
  bool recursively_read_only = false;  // what is mounted below it too
  MountPropagation propagation = MountPropagation::None;
};

// What a pod's shim is told once.
struct PodLaunch {
  std::string uid, ns, name;
  std::string hostname;
  std::vector<LaunchVolume> volumes;
  std::string hosts;                 // the text of /etc/hosts
  std::string about;                 // kept beside its logs (node/log_layout.h)
  std::string resolv_conf;           // and of /etc/resolv.conf; "": the host's own
  std::string address;               // in the pods' network
  std::vector<std::string> gpus;     // those it has (node/gpus.h)
  bool host_network = false;         // no network of its own
  uint64_t shared_memory_bytes = 0;  // of /dev/shm; 0: half of the machine's memory
  bool host_ipc = false, host_pid = false, share_pid = false;
  std::string shares_memory_with;  // a training job; its pods have one /dev/shm. "": its own
  std::vector<std::pair<std::string, std::string>> sysctls;  // files of /proc/sys and their text
  bool mounts_reach_host = false;  // a container's own mounts are seen outside
  std::string play;                // how a simulated node plays it (node/simulated)
};

// What one run of one container is told.
// Connections to it wait until it accepts (node/sandbox/connect_gate.h).
struct HeldConnections {
  std::string address;  // "": none
  int port = 0;
  Duration longest{};
};

struct ContainerLaunch {
  std::string container;
  int run = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=value
  std::string working_folder;    // made where missing
  std::string root_folder;       // of an image: read-only below a layer of the run; "": the host
  std::string layers_folder;     // of an unpacked image: where `layers` are, the uppermost first
  std::vector<std::string> layers, image_volumes;
  bool read_only_root = false;
  std::vector<LaunchMount> mounts;
  std::string message_path;       // terminationMessagePath; "": none
  bool message_from_log = false;  // FallbackToLogsOnError
  std::optional<int64_t> memory_limit_bytes, cpu_limit_milli, processes_limit;
  int64_t cpu_request_milli = 0;
  int64_t uid = 0, gid = 0;
  std::vector<int64_t> groups;
  uint64_t capabilities = 0;  // a mask; bounds what root in the container can do
  bool no_new_privileges = true;
  bool privileged = false;   // sees the machine's devices
  bool masked_proc = true;   // procMount: Default
  std::string system_calls;  // the filter as node/seccomp.h writes it; "": none
  int oom_score_adjust = 0;
  std::string processes_of;  // the container whose processes it sees (kubectl debug --target)
  // stdin, stdinOnce and tty: what `kubectl attach` talks to is kept open for it.
  bool input = false, input_once = false, terminal = false;
  HeldConnections held;
};

struct ContainerExit {
  int code = 0;  // 128 + signal when killed by one
  bool out_of_memory = false;
  bool lost = false;  // the shim died: nobody knows how the run ended
  Time at{};
  std::string message;  // what the container left at its terminationMessagePath
};

struct ContainerRun {
  std::string container;
  int run = 0;
  int pid = 0;
  Time started{};
  std::string failure;  // why the command could not be started; then `exit` is there too
  std::optional<ContainerExit> exit;
  bool is_running() const { return !exit; }
};

// What ended a pod together with its machine.
enum class NodeEnd { None, Shutdown, Reboot };

struct PodRecord {
  std::string uid, ns, name;
  std::string address;                // as its launch said
  std::vector<std::string> gpus;      // likewise
  bool alive = false;                 // its shim answers
  std::vector<ContainerRun> runs;     // in order of their starts
  std::vector<std::string> refusals;  // what the kernel refused of the sandbox
  NodeEnd node_end = NodeEnd::None;
  const ContainerRun* newest_run(std::string_view container) const {
    const ContainerRun* newest = nullptr;
    for (const ContainerRun& run : runs) {
      if (run.container == container) newest = &run;
    }
    return newest;
  }
};

// How a command beside a container ended: a probe, a hook.
struct CommandOutcome {
  int code = 0;
  bool timed_out = false;
  std::string output;  // stdout and stderr as they came, the first 10 kB
};

// What a pod's files take of the disk.
struct PodUsage {
  std::map<std::string, uint64_t> volumes;  // emptyDirs on disk, by name
  std::map<std::string, uint64_t>
      containers;  // what each has written beside its volumes, and its logs
};

class PodRuntime {
 public:
  virtual ~PodRuntime() = default;

  // Called with a pod's uid whenever its record has changed; there may be several.
  virtual void on_change(std::function<void(const std::string& uid)> callback) = 0;
  // Finds the pods of earlier servers, then calls `done`. Once, before anything is started.
  virtual void recover(std::function<void()> done) = 0;
  virtual const PodRecord* find(std::string_view uid) const = 0;  // null: nothing of it is here
  virtual std::vector<std::string> pods() const = 0;              // uids

  // The shim of a pod. Asked again after its shim has died, the record's runs are kept and counted
  // as lost.
  virtual void start_pod(PodLaunch launch, std::function<void(Result<void>)> done) = 0;
  // Idempotent: a (container, run) that has begun is not begun again.
  virtual void start(std::string_view uid, ContainerLaunch launch,
                     std::function<void(Result<void>)> done) = 0;
  virtual void signal(std::string_view uid, std::string_view container, int signal) = 0;
  // Runs a command in the container's namespaces, as its user, with its environment; killed with
  // all it started when `timeout` has passed.
  virtual void run_command(std::string_view uid, std::string_view container,
                           std::vector<std::string> argv, Duration timeout,
                           std::function<void(Result<CommandOutcome>)> done) = 0;
  // A TCP connection made in the pod's network; the caller owns the descriptor (non-blocking).
  virtual void dial(std::string_view uid, std::string host, int port, Duration timeout,
                    std::function<void(Result<int>)> done) = 0;
  // Walks the pod's folders, so ask seldom.
  virtual void measure(std::string_view uid, std::function<void(PodUsage)> done) = 0;
  // New content of a volume of files, seen by programs in one step.
  virtual void replace_files(std::string_view uid, LaunchVolume volume) = 0;
  virtual void stop(std::string_view uid) = 0;  // kills what runs; then the shim ends
  virtual void remove(
      std::string_view uid) = 0;  // forgets a pod whose shim has ended; its logs stay
};

}  // namespace yard
