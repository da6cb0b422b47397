#pragma once
// What of a pod need not outlive the machine lies in memory: mounted files, names, sockets, what a
// run is told. A disk's filesystem would spend more on these small files than on the rest of a
// pod's start. Where memory does not suit (no /dev/shm, or one that runs no programs) they lie in
// the pod's run folder. Blocking.

#include <string>

namespace yard {

// Decides where, once before any pod starts, and makes it: a folder of our own below /dev/shm,
// named in <state>/transient for whoever comes later. "": in the run folders. Also takes away what
// state folders that are gone have left there.
std::string prepare_transient(const std::string& state_folder);

// Where the transient things of a pod are; its run folder where they are not apart.
std::string transient_of(const std::string& state_folder, const std::string& uid);

// Takes away what belongs to no pod that has a run folder.
void sweep_transient(const std::string& state_folder);

// Once no pod runs any more: what tells how they ended moves to their run folders, the rest goes.
void settle_transient(const std::string& state_folder);

}  // namespace yard
