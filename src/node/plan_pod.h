#pragma once
// What should happen next to a pod of this node: a pure function from what is known to what to do.
// The agent carries it out.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/json.h"
#include "node/images/resolve_image.h"
#include "node/pod_runtime.h"

namespace yard {

// Why a container (or, under "", the whole pod) could not be started; tried again at `retry_at`.
struct StartProblem {
  std::string reason;  // CreateContainerConfigError, ErrImageNeverPull ...
  std::string message;
  Time retry_at{};
};

// All that matters for one pod at one moment.
struct PodWorld {
  Json pod;                           // as stored
  const PodRecord* record = nullptr;  // null: nothing of it is on this machine
  Time now{};
  std::string pod_ip, host_ip;
  bool starting = false;                 // its shim is being started
  std::map<std::string, int> requested;  // runs asked for, container → run
  std::map<std::string, StartProblem> problems;
  std::set<std::string> told_to_end;              // containers that have had their SIGTERM
  std::map<std::string, ImageResolution> images;  // container → what its image stands for here
  const ImageResolution& image_of(const std::string& container) const;
};

struct PodEvent {
  std::string type;  // Normal, Warning
  std::string reason, message;
  std::string field_path;  // spec.containers{c}; "" for the pod
};

struct PodPlan {
  bool start_pod = false;
  struct Start {
    std::string container;
    int run = 0;
  };
  std::vector<Start> start;
  struct Signal {
    std::string container;
    int number = 0;
  };
  std::vector<Signal> signals;
  bool stop = false;           // end the shim: nothing is to run any more
  bool remove = false;         // forget what is on this machine
  bool delete_object = false;  // the last step of a deletion
  std::optional<Json> status;  // to be written; nullopt: as stored
  std::vector<PodEvent> events;
  std::optional<Time> look_again;
};

PodPlan plan_pod(const PodWorld& world);

// A plan in one line, for logs and tests.
std::string to_text(const PodPlan& plan);

}  // namespace yard
