#pragma once
// What should happen next to a pod of this node: a pure function from what is known to what to do.
// The agent carries it out.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/shared_json.h"
#include "node/images/resolve_image.h"
#include "node/pod_runtime.h"
#include "node/probes.h"
#include "node/start_gate.h"

namespace yard {

// Why a container (or, under "", the whole pod) could not be started; tried again at `retry_at`.
struct StartProblem {
  std::string reason;  // CreateContainerConfigError, ErrImageNeverPull ...
  std::string message;
  Time retry_at{};
};

enum class HookKind { PostStart, PreStop };
struct HookState {
  enum class Stage { NotBegun, UnderWay, Done, Failed };
  Stage stage = Stage::NotBegun;
  Time ended{};
  bool is_over() const { return stage == Stage::Done || stage == Stage::Failed; }
};

// What the agent remembers of the newest run of a container. A new server has forgotten it: then
// the stored status stands in, and what is under way is done again.
struct RunMemory {
  int run = 0;
  std::array<ProbeState, kProbeKinds.size()> probes;  // by ProbeKind
  HookState post_start, pre_stop;
  std::optional<Time> end_began;  // we are ending it
  bool told_to_end = false;       // it has had its stop signal
};

// A pod that uses more of the disk than it may (pod_storage.h), or has to make room on a machine
// that runs short (pressure.h): the latter is the system's doing.
struct Eviction {
  std::string message;
  Time at{};
  bool disruption = false;
};

// All that matters for one pod at one moment.
struct PodWorld {
  SharedJson pod;                     // as stored
  const PodRecord* record = nullptr;  // null: nothing of it is on this machine
  Time now{};
  std::string pod_ip, host_ip;
  bool starting = false;                 // its shim is being started
  std::map<std::string, int> requested;  // runs asked for, container → run
  std::map<std::string, StartProblem> problems;
  std::map<std::string, RunMemory, std::less<>> memory;  // by container
  std::optional<Eviction> eviction;
  std::optional<StartGate> gate;  // before its first container; nullopt: it waits for nobody
  AwaitedPod awaited;             // behind that gate
  std::optional<Time> node_ends;  // since when the node is being shut down: nothing new starts
  bool writing = false;           // a status is being stored: what there is to tell follows it
  bool can_wait = false;          // a status that something else follows soon may wait for that
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
  bool opens_gate = false;
  std::optional<Time> holds_until;  // connections to the awaited port, of what starts now
  struct Signal {
    std::string container;
    int number = 0;
  };
  std::vector<Signal> signals;
  std::vector<std::string> ends;  // containers whose end begins now
  struct Hook {
    std::string container;
    int run = 0;
    HookKind kind = HookKind::PostStart;
    Duration timeout{};
  };
  std::vector<Hook> hooks;
  struct Probe {
    std::string container;
    int run = 0;
    ProbeKind kind = ProbeKind::Readiness;
  };
  std::vector<Probe> probes;
  bool stop = false;           // end the shim: nothing is to run any more
  bool remove = false;         // forget what is on this machine
  bool delete_object = false;  // the last step of a deletion
  std::optional<Json> status;  // to be written; nullopt: as stored, or not asked for
  // Containers are on their way: the next one says that, and more. Where the world can wait there
  // is no status.
  bool status_may_wait = false;
  std::vector<PodEvent> events;
  std::optional<Time> look_again;
};

PodPlan plan_pod(const PodWorld& world);
// True of a plan that does nothing but tell that the pod runs: once its status is stored another
// look finds nothing, until something happens.
bool only_tells(const PodWorld& world, const PodPlan& plan);

// A plan in one line, for logs and tests.
std::string to_text(const PodPlan& plan);

}  // namespace yard
