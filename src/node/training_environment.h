#pragma once
// What a training replica gets of the node where its container says nothing itself (design §5).

#include "node/environment.h"

namespace yard {

// How many replicas of one job start together; the training controller puts it on their pods.
inline constexpr std::string_view kReplicasAnnotation = "trainyard.dev/gang-size";

// On a pod, "false": it has a /dev/shm, an ipc namespace and an NCCL_HOSTID of its own.
inline constexpr std::string_view kShareMemoryAnnotation = "trainyard.dev/share-memory";

// The training job with whose other pods it has one ipc namespace and one /dev/shm, as a file's
// name; "": none.
std::string memory_group(const Json& pod);

// OMP_NUM_THREADS: the machine's cores shared among the job's ranks, never more than the
// container may use. NCCL_HOSTID: one for the job, whose ranks have host names of their own.
// Nothing for other pods.
void add_training_defaults(Environment& environment, const Json& pod, const Json& container,
                           int64_t cpus);

}  // namespace yard
