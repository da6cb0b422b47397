#pragma once
// What has happened to the pod's containers, one line each, synced. The file is the only truth: the
// server reads it when the socket says that it has grown, and after a shim's death. Lines
// (node/journal.h reads them):
//   start   <container> <run> <pid> <start time, clock ticks> <unix ns>
//   exit    <container> <run> <code> <oom: 0|1> <unix ns>
//   failed  <container> <run> <unix ns> <why the command could not be started>
//   lost    <container> <run> <unix ns>          an earlier shim died before it saw the end
//   refused <what the kernel refused of the sandbox>

#include <map>
#include <string>
#include <utility>

namespace shim {

class Journal {
 public:
  // Opens it and writes `lost` for what an earlier shim left without an end.
  bool open(const char* path, long long now_ns);
  // In the file at once. On a full disk the line waits in memory, whole and in its place: half of
  // one would spoil the next.
  void append(const std::string& line);
  bool is_stuck() const { return !unwritten_.empty(); }
  bool write_again();  // whether nothing waits any more
  void sync();         // and on the disk, with launch.json
  bool is_synced() const { return synced_; }
  bool has_run(const std::string& container, int run) const {
    return runs_.count({container, run}) != 0;
  }

 private:
  void remember(const std::string& line);
  int fd_ = -1;
  std::string unwritten_;
  bool synced_ = true, launch_synced_ = false;
  std::map<std::pair<std::string, int>, bool> runs_;  // ended?
};

}  // namespace shim
