#pragma once
// What the shim reads of launch.json and of a run's <container>.<run>.json; the server writes them
// (node/launch_files.h).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node/sandbox/connect_gate.h"

namespace shim {

struct Mount {
  std::string source, target, sub_path;
  bool read_only = false, recursive = false, recursively_read_only = false;
  // Of mounts made below it later; Unsaid: a server that knows nothing of it has written this.
  enum class Propagation { Unsaid, None, FromHost, BothWays };
  Propagation propagation = Propagation::Unsaid;
};
struct Cgroup {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> limits;
  bool unified = false;  // version 2
  bool is_new = false;   // has nothing of an earlier run of this container
};
struct Memory {
  std::string folder;
  uint64_t bytes = 0;
  int64_t group = -1;      // fsGroup; -1: none
  bool is_shared = false;  // /dev/shm of all pods of the job
};
struct Pod {
  std::string uid, hostname, log_folder;
  std::string transient_folder;  // what runs are told, /dev/shm
  std::string job;               // whose pods have one ipc namespace and one /dev/shm; "": its own
  bool host_ipc = false, host_pid = false, share_pid = false;
  std::vector<Memory> memory;
  std::vector<std::pair<std::string, std::string>> sysctls;  // files of /proc/sys, and their text
  bool host_mounts = false;  // a container's own mounts are to be seen outside
};
struct Container {
  std::string name;
  int run = 0;
  std::vector<std::string> argv, env, host_folders;
  std::string working_folder, log_folder, root_folder;
  std::string layers_folder;                       // of an image; its layers lie there
  std::vector<std::string> layers, image_volumes;  // the uppermost first
  bool private_root = true, read_only_root = false, no_new_privileges = true;
  bool host_ipc = false;     // /dev/shm is the machine's
  bool privileged = false;   // sees the machine's devices
  bool masked_proc = true;   // what of /proc and /sys tells about or changes the machine is hidden
  std::string processes_of;  // a container whose pid namespace it enters; "": one of its own
  std::string system_calls;  // the filter, hexadecimal (node/seccomp.h); "": none
  uint64_t processes_limit = 0, memory_limit = 0;  // that no control group holds; 0: none
  std::vector<Mount> mounts;
  std::vector<Cgroup> cgroups;
  uint32_t uid = 0, gid = 0;
  std::vector<uint32_t> groups;
  uint64_t capabilities = 0;
  int oom_score_adjust = 0;
  bool input = false, input_once = false, terminal = false;
  AwaitedPort awaited;
};

// An empty text is success; otherwise what is wrong with the file.
std::string read_pod(const char* path, Pod& pod);
std::string read_container(const std::string& path, Container& container);

}  // namespace shim
