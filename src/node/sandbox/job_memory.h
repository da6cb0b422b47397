#pragma once
// The pods of one training job have one ipc namespace and one /dev/shm, so that NCCL and gloo talk
// through memory. The first shim of a job makes both; each later one gets them as descriptors from
// any that lives. A list beside the run folders, locked while a shim takes part, says who has them;
// the kernel ends both with the last that holds them.

#include <string>
#include <vector>

namespace shim {

struct JobMemory {
  int memory = -1;  // the mounted /dev/shm, as a tree that can be moved into place
  int ipc = -1;     // the namespace
  int user = -1;    // and the user namespace that owns both, as an ordinary user
};

class JobMembership {
 public:
  ~JobMembership();
  // Waits for its turn, then asks those on the list. A failure leaves a pod with its own memory.
  // `folder` is the pod's run folder, `job` a name without slashes.
  std::string join(const std::string& folder, const std::string& job);
  const JobMemory& found() const { return found_; }
  void say_so();  // we have it too: whoever comes next may ask us

 private:
  bool ask(const std::string& folder);

  int list_ = -1;
  std::string own_name_;
  std::vector<std::string> members_;  // that answer
  JobMemory found_;
};

// What a shim that has it answers another with. Negative: not there. The caller closes them.
JobMemory offered_memory(const std::string& folder);  // where its `shm` is

}  // namespace shim
