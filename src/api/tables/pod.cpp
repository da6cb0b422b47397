#include <algorithm>

#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"

namespace yard {

namespace {

// Restart counts of the containers walked so far, and when the latest of them last ended.
struct Restarts {
  int64_t count = 0;
  std::optional<Time> latest;

  void add(const Json& status) {
    count += int_at(status, {"restartCount"});
    std::optional<Time> ended = time_at(status, {"lastState", "terminated", "finishedAt"});
    if (ended && (!latest || *latest < *ended)) latest = ended;
  }
};

struct PodSummary {
  std::string status;
  int64_t ready = 0;
  Restarts restarts;
};

bool is_sidecar(const Json& container) {
  return text_at(container, {"restartPolicy"}) == "Always";
}

bool names_sidecar(const Json& pod, std::string_view name) {
  const JsonArray& containers = list_at(pod, {"spec", "initContainers"});
  return std::ranges::any_of(containers, [&](const Json& container) {
    return text_at(container, {"name"}) == name && is_sidecar(container);
  });
}

std::string exit_text(const Json& terminated) {
  std::string_view reason = text_at(terminated, {"reason"});
  if (!reason.empty()) return std::string(reason);
  if (int64_t signal = int_at(terminated, {"signal"}); signal != 0) {
    return fmt::format("Signal:{}", signal);
  }
  return fmt::format("ExitCode:{}", int_at(terminated, {"exitCode"}));
}

// What an init container that holds the pod back says of itself.
std::string blocking_text(const Json& status, size_t position, size_t init_containers) {
  if (const Json* terminated = find_path(status, {"state", "terminated"})) {
    return "Init:" + exit_text(*terminated);
  }
  std::string_view waiting = text_at(status, {"state", "waiting", "reason"});
  if (!waiting.empty() && waiting != "PodInitializing") return fmt::format("Init:{}", waiting);
  return fmt::format("Init:{}/{}", position, init_containers);
}

// Walks the init statuses; answers whether one of them holds the pod back. `sidecars` counts apart,
// because once the pod is initialised only sidecars' restarts are shown.
bool walk_init_statuses(const Json& pod, PodSummary& summary, Restarts& sidecars) {
  const JsonArray& statuses = list_at(pod, {"status", "initContainerStatuses"});
  for (size_t i = 0; i < statuses.size(); ++i) {
    const Json& status = statuses[i];
    bool sidecar = names_sidecar(pod, text_at(status, {"name"}));
    summary.restarts.add(status);
    if (sidecar) sidecars.add(status);
    const Json* terminated = find_path(status, {"state", "terminated"});
    if (terminated != nullptr && int_at(*terminated, {"exitCode"}) == 0) continue;
    if (sidecar && bool_at(status, {"started"})) {
      if (bool_at(status, {"ready"})) ++summary.ready;
      continue;
    }
    summary.status = blocking_text(status, i, list_at(pod, {"spec", "initContainers"}).size());
    return true;
  }
  return false;
}

// From last to first, so the earliest container that is not running has the last word.
void walk_app_statuses(const Json& pod, PodSummary& summary) {
  const JsonArray& statuses = list_at(pod, {"status", "containerStatuses"});
  bool some_running = false;
  for (size_t i = statuses.size(); i-- > 0;) {
    const Json& status = statuses[i];
    summary.restarts.add(status);
    std::string_view waiting = text_at(status, {"state", "waiting", "reason"});
    if (!waiting.empty()) {
      summary.status = waiting;
    } else if (const Json* terminated = find_path(status, {"state", "terminated"})) {
      summary.status = exit_text(*terminated);
    } else if (bool_at(status, {"ready"}) && find_path(status, {"state", "running"}) != nullptr) {
      some_running = true;
      ++summary.ready;
    }
  }
  if (summary.status == "Completed" && some_running) {
    summary.status = condition_status(pod, "Ready") == "True" ? "Running" : "NotReady";
  }
}

std::string_view status_before_containers(const Json& pod) {
  for (const Json& condition : list_at(pod, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == "PodScheduled" &&
        text_at(condition, {"reason"}) == "SchedulingGated") {
      return "SchedulingGated";
    }
  }
  std::string_view reason = text_at(pod, {"status", "reason"});
  return reason.empty() ? text_at(pod, {"status", "phase"}) : reason;
}

PodSummary summarise(const Json& pod) {
  PodSummary summary;
  summary.status = status_before_containers(pod);
  Restarts sidecars;
  bool initialising = walk_init_statuses(pod, summary, sidecars);
  if (!initialising || condition_status(pod, "Initialized") == "True") {
    summary.restarts = sidecars;
    walk_app_statuses(pod, summary);
  }
  if (is_being_deleted(pod)) {
    std::string_view phase = text_at(pod, {"status", "phase"});
    if (text_at(pod, {"status", "reason"}) == "NodeLost") {
      summary.status = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.status = "Terminating";
    }
  }
  return summary;
}

int64_t counted_containers(const Json& pod) {
  const JsonArray& init = list_at(pod, {"spec", "initContainers"});
  return static_cast<int64_t>(list_at(pod, {"spec", "containers"}).size()) +
         std::ranges::count_if(init, is_sidecar);
}

std::string readiness_gates_text(const Json& pod) {
  const JsonArray& gates = list_at(pod, {"spec", "readinessGates"});
  if (gates.empty()) return "<none>";
  auto met = std::ranges::count_if(gates, [&](const Json& gate) {
    return condition_status(pod, text_at(gate, {"conditionType"})) == "True";
  });
  return fmt::format("{}/{}", met, gates.size());
}

std::string_view pod_ip(const Json& pod) {
  std::string_view ip = text_at(pod, {"status", "podIP"});
  if (!ip.empty()) return ip;
  const JsonArray& ips = list_at(pod, {"status", "podIPs"});
  return ips.empty() ? "" : text_at(ips[0], {"ip"});
}

}  // namespace

std::vector<Column> pod_columns() {
  return {
      name_column(),
      column("Ready", "Containers that are ready, of all that should be."),
      column("Status", "What the pod is doing, in one word."),
      column("Restarts", "How often its containers were started again, and when last."),
      age_column(),
      wide_column("IP", "The pod's address."),
      wide_column("Node", "Where the pod runs."),
      wide_column("Nominated Node", "Where room is being made for the pod."),
      wide_column("Readiness Gates", "Extra conditions that are met, of all asked for."),
  };
}

std::string pod_cells(const Json& object) {
  PodSummary summary = summarise(object);
  RowWriter row;
  row.text(name_of(object));
  row.text(fmt::format("{}/{}", summary.ready, counted_containers(object)));
  row.text(summary.status);
  std::string restarts = std::to_string(summary.restarts.count);
  if (summary.restarts.count > 0 && summary.restarts.latest) {
    row.text_with_age(restarts + " (", *summary.restarts.latest, " ago)");
  } else {
    row.text(restarts);
  }
  row.age(created_at(object));
  row.text(or_none(pod_ip(object)));
  row.text(or_none(text_at(object, {"spec", "nodeName"})));
  row.text(or_none(text_at(object, {"status", "nominatedNodeName"})));
  row.text(readiness_gates_text(object));
  return row.finish();
}

}  // namespace yard
