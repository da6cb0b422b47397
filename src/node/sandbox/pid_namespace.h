#pragma once
// Which processes a container sees, and how those that it leaves behind are ended. By default each
// container has a pid namespace of its own and all in it die with its first process.

#include <linux/sched.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "node/shim/launch.h"

namespace shim {

// Called once by the shim. shareProcessNamespace: the containers' processes go into one namespace,
// whose first process only reaps.
std::string prepare_pid_namespace(const Pod& pod);

// Whether clone3 must make a namespace for the next container.
bool has_pid_namespace_each();
// clone3 of a child that sees the processes of that one (a pidfd) and is still ours to wait for.
// 0: this is the child. A process between the two enters the namespace: nobody but the machine's
// root could leave it again.
pid_t clone_beside(int process, clone_args arguments, std::string& problem);
// hostPID: /proc is the machine's.
bool sees_machine_processes();

// Where no namespace ends them and no control group holds them: what has lost its parent came to
// the shim, the subreaper, and is killed here. Ours to keep are `mains`.
void kill_strays(const std::vector<pid_t>& mains);

// The bytes that a process and all below it hold and nobody else does.
uint64_t memory_in_use(pid_t process);

}  // namespace shim
