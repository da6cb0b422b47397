#pragma once
// Where logs lie. Whoever reads them without the server relies on this; it changes only with a note
// in docs/compatibility.md.
//
//   <state>/logs/<namespace>_<pod>_<uid>/      one pod; none of the three names has a `_` in it.
//                                              A long pod's name is cut so that a file can have it;
//                                              pod.json has it whole
//     pod.json                                 what the pod was, written when it starts (below)
//     gone                                     RFC 3339: since when neither the pod nor its owner
//     is
//                                              there any more; the folder goes a retention time
//                                              later
//     <container>/<run>.log                    the newest lines of a run, 0 the first
//     <container>/<run>.log.1 … .5             older ones, .1 the newest of them, 10 MiB each
//
// A line is `<RFC3339Nano> stdout|stderr F|P <text>`: F ends a line, P is a piece of one. The
// newest ten runs of a container are kept.
//
// pod.json: {"namespace", "pod", "uid", "created", "node", "labels": {…},
//   "owner": {"apiVersion", "kind", "name", "uid"} (absent without one),
//   "containers": [names; init containers first]}
// The labels tell job, replica and index (batch.kubernetes.io/job-name, …/job-completion-index,
// training.kubeflow.org/job-name, replica-type, replica-index); `created` puts the attempts of one
// replica in order.

#include <optional>
#include <string>
#include <string_view>

#include "json/json.h"

namespace yard {

constexpr int kMostLogFiles = 6;      // of a run, as the shim rotates
constexpr int kMostRunsWithLog = 10;  // of a container

struct LogOwner {
  std::string api_version, kind, name, uid;  // all empty: the pod stands for itself
};

// A pod's folder below <state>/logs.
struct LogFolder {
  std::string ns, pod, uid;
  LogOwner owner;
};

std::string log_folder_name(std::string_view ns, std::string_view name, std::string_view uid);
// nullopt: not a pod's folder. The owner, and the pod's name where it was cut, are in its pod.json.
std::optional<LogFolder> parse_log_folder_name(std::string_view name);

std::string pod_about_text(const Json& pod, std::string_view node);  // pod.json
LogOwner log_owner_of(const Json& pod);
LogOwner log_owner_in(const Json& about);

}  // namespace yard
