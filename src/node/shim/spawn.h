#pragma once
// A container's first process: cloned by the shim, confined (node/sandbox), then the user's
// command.

#include <string>
#include <sys/types.h>

#include "node/shim/launch.h"

namespace shim {

struct Spawned {
  pid_t pid = -1;
  int in = -1;             // the write end of its input, where it has one
  int out = -1, err = -1;  // the read ends of its output, non-blocking; of a terminal only `out`
  int gate = -1;           // where its connects are asked about (node/sandbox/connect_gate.h)
  std::string problem;     // why there is no process
};

// Where a pod's things lie (node/launch_files.h).
struct PodPlaces {
  std::string run, transient;
};

// Returns when the command has been executed or could not be. Where each container has processes
// of its own, it sees those of `beside`; -1: nobody's.
Spawned spawn(const Container& container, const PodPlaces& places, pid_t beside = -1);

// Once, in the first process of all, for its children: none of them ignores a signal or handles it.
void forget_ignored_signals();

// The last steps of every process of a container, its commands too (node/shim/command.h).
void restore_signals();                           // to what a program expects
std::string execute(const Container& container);  // returns only when it failed, and why
// What a child says before it executes its command is why it could not.
std::string read_report(int fd);

// The start time of a process in clock ticks since boot: with the pid it names one process for
// ever. 0: gone.
unsigned long long start_ticks(pid_t pid);

}  // namespace shim
