#pragma once
// What the shim reads of launch.json and of a run's <container>.<run>.json; the server writes them
// (node/launch_files.h).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shim {

struct Mount {
  std::string source, target, sub_path;
  bool read_only = false, recursive = false;
};
struct Cgroup {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> limits;
};
struct Memory {
  std::string folder;
  uint64_t bytes = 0;
};
struct Pod {
  std::string uid, hostname, log_folder;
  std::vector<Memory> memory;
};
struct Container {
  std::string name;
  int run = 0;
  std::vector<std::string> argv, env, host_folders;
  std::string working_folder, log_folder, root_folder;
  bool private_root = true, read_only_root = false, no_new_privileges = true;
  std::vector<Mount> mounts;
  std::vector<Cgroup> cgroups;
  uint32_t uid = 0, gid = 0;
  std::vector<uint32_t> groups;
  uint64_t capabilities = 0;
  int oom_score_adjust = 0;
};

// An empty text is success; otherwise what is wrong with the file.
std::string read_pod(const char* path, Pod& pod);
std::string read_container(const std::string& path, Container& container);

}  // namespace shim
