#pragma once
// A pod's containers beside their runs: what the decisions and the status share. Only plan_pod.cpp
// and its neighbours include this.

#include <optional>
#include <string>
#include <vector>

#include "node/plan_pod.h"
#include "node/restart.h"

namespace yard {

struct ContainerView {
  // Ephemeral: put beside the others by `kubectl debug`; it runs once and counts for nothing.
  enum class Role { Init, Sidecar, App, Ephemeral };
  const Json* spec = nullptr;
  std::string name;
  Role role = Role::App;
  RestartPolicy policy =
      RestartPolicy::Always;  // its own: init containers and sidecars differ from the pod
  std::vector<const ContainerRun*> runs;
  Restart restart;                    // of the newest run, when that has ended
  bool will_restart = false;          // `restart.again`, unless the pod is ending
  const RunMemory* memory = nullptr;  // of the newest run; never null
  // Of a run that goes on. `begun`: its postStart hook is over. `started` and `ready` as its probes
  // say.
  bool begun = false, started = false, ready = false;
  std::optional<ProbeKind> failed_probe;  // liveness or startup: it has to end

  bool is_init() const { return role == Role::Init || role == Role::Sidecar; }
  // Where the pod's spec and status list it.
  const char* spec_list() const {
    return is_init() ? "initContainers" : role == Role::App ? "containers" : "ephemeralContainers";
  }
  const char* status_list() const {
    return is_init()           ? "initContainerStatuses"
           : role == Role::App ? "containerStatuses"
                               : "ephemeralContainerStatuses";
  }
  const ContainerRun* newest() const { return runs.empty() ? nullptr : runs.back(); }
  bool is_running() const { return !runs.empty() && runs.back()->is_running(); }
  bool has_ended() const { return !runs.empty() && !runs.back()->is_running(); }
  bool has_succeeded() const { return has_ended() && runs.back()->exit->code == 0; }
  bool is_waiting(Time now) const { return will_restart && restart.is_waiting(now); }
  bool has_ended_for_good() const { return has_ended() && !will_restart; }
};

// Why and until when a pod's containers are being ended.
struct Ending {
  bool active = false;
  Time kill_at{};
  Duration grace{};
  std::string reason, message;  // of the pod's status: DeadlineExceeded; "" for a deletion
  bool disruption = false;      // the system's doing: DisruptionTarget
};

struct PodView {
  std::vector<ContainerView> containers;  // init containers first, in the spec's order
  Ending ending;
  RestartPolicy policy = RestartPolicy::Always;
  bool apps_ran = false;     // at least one app container has started
  bool init_done = false;    // every init container has succeeded, every sidecar has started
  bool init_failed = false;  // and the policy does not try again
};

PodView view_of(const PodWorld& world);
// Fills in what hooks and probes say of a container that runs.
void judge_health(const PodWorld& world, ContainerView& container);
void plan_probes(const PodWorld& world, const PodView& view, PodPlan& plan);
void plan_post_start(const PodWorld& world, const PodView& view, PodPlan& plan);

void look_again_at(PodPlan& plan, Time at);
std::string field_path(const ContainerView& container);
// The stored status of a container; null when there is none.
const Json* stored_status(const PodWorld& world, const ContainerView& container);
bool tells_of(const Json* status, const PodWorld& world, const ContainerRun& run);

// The next status, complete. `terminal`: nothing runs and nothing will.
Json next_status(const PodWorld& world, const PodView& view);
std::string next_phase(const PodWorld& world, const PodView& view);
bool is_terminal(const Json& status);

// What became true between two statuses, as Events.
std::vector<PodEvent> status_events(const PodWorld& world, const PodView& view, const Json& next);

std::string container_id(const PodWorld& world, const ContainerRun& run);
std::string pod_in_text(const Json& pod);  // name_namespace(uid), as kubelet's messages print it

}  // namespace yard
