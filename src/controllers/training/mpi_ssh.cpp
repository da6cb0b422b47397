// MPIJob v2beta1 (kubeflow-jobs 4.8): names that resolve through one headless Service, and a
// launcher that may wait for its workers. Where this machine has a program for it the launcher
// reaches them by exec; sshd and keys are then nobody's business.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/mpi_files.h"
#include "controllers/training/replica_objects.h"

namespace yard {
namespace {

constexpr std::string_view kRemoteShell = "/etc/mpi/kubexec.sh";

std::string_view implementation(const TrainingJob& job) {
  return text_at(*job.tree, {"spec", "mpiImplementation"}, "OpenMPI");
}

bool launcher_works(const TrainingJob& job) {
  return bool_at(*job.tree, {"spec", "runLauncherAsWorker"});
}

std::string full_name(const TrainingJob& job, std::string_view pod) {
  return fmt::format("{}.{}.{}.svc", pod, job.name, job.ns);
}

std::string host_line(const TrainingJob& job, std::string_view pod) {
  const bool is_open_mpi = implementation(job) == "OpenMPI";
  return fmt::format("{}{}{}\n", full_name(job, pod), is_open_mpi ? " slots=" : ":",
                     mpi_slots(job));
}

std::string hostfile(const TrainingJob& job) {
  std::string text;
  if (launcher_works(job)) text += host_line(job, job.name + "-launcher");
  const ReplicaGroup* workers = job.group("Worker");
  for (int index = 0; workers != nullptr && index < workers->replicas; ++index)
    text += host_line(job, replica_name(job, *workers, index));
  return text;
}

std::string discover_script(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  std::string text = "#!/bin/sh\n";
  if (launcher_works(job)) text += fmt::format("echo {}\n", full_name(job, job.name + "-launcher"));
  for (const std::string& worker : running_workers(pods))
    text += fmt::format("echo {}\n", full_name(job, worker));
  return text;
}

// Called as ssh is: options, a host by its full name, the command.
std::string remote_shell() {
  return fmt::format(
      "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do\n  case $1 in -[opliFE]) shift ;; esac\n"
      "  shift\ndone\nPOD_NAME=${{1%%.*}}\nshift\nexec {} exec ${{POD_NAME}} -- /bin/sh -c \"$*\"",
      kExecProgram);
}

bool by_exec(const TrainingSettings& settings) {
  return !settings.exec_program.empty();
}

std::vector<Json> extra_objects(const TrainingJob& job, const TrainingSettings& settings,
                                const std::vector<ReplicaPod>& pods) {
  JsonObject config = mpi_object(job, "v1", "ConfigMap", job.name + "-config");
  config["data"] =
      JsonObject{{"hostfile", hostfile(job)}, {"discover_hosts.sh", discover_script(job, pods)}};
  if (by_exec(settings)) config["data"].get_object()["kubexec.sh"] = remote_shell();
  JsonObject service = mpi_object(job, "v1", "Service", job.name);
  JsonObject spec{
      {"clusterIP", "None"},
      {"selector", JsonObject{{kOperatorLabel, job.kind->controller}, {kJobNameLabel, job.name}}}};
  if (launcher_works(job)) spec["publishNotReadyAddresses"] = true;
  service["spec"] = std::move(spec);
  std::vector<Json> out = by_exec(settings) ? launcher_rights(job) : std::vector<Json>();
  out.push_back(std::move(config));
  out.push_back(std::move(service));
  return out;
}

void add_launcher_variables(const TrainingJob& job, const TrainingSettings& settings,
                            JsonObject& container) {
  const auto set = [&](std::string_view name, std::string_view value) {
    append_item(container, "env", variable(name, value));
  };
  const std::string slots = std::to_string(mpi_slots(job));
  if (implementation(job) == "Intel") {
    set("I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    set("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10");
    set("I_MPI_PERHOST", slots);
    if (by_exec(settings)) {
      set("I_MPI_HYDRA_BOOTSTRAP", "rsh");
      set("I_MPI_HYDRA_BOOTSTRAP_EXEC", kRemoteShell);
    }
  } else if (implementation(job) == "MPICH") {
    set("HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    set("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10");
    if (by_exec(settings)) {
      set("HYDRA_LAUNCHER", "ssh");
      set("HYDRA_LAUNCHER_EXEC", kRemoteShell);
    }
  } else {
    set("OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    set("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    set("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
    set("OMPI_MCA_orte_set_default_slots", slots);
    if (by_exec(settings)) set("OMPI_MCA_plm_rsh_agent", kRemoteShell);
  }
  if (launcher_works(job)) return;
  set("NVIDIA_VISIBLE_DEVICES", "");
  set("NVIDIA_DRIVER_CAPABILITIES", "");
}

// Nothing of its own to do but to be there: no program, or the server of ssh.
bool only_waits(const JsonObject& container) {
  const auto words = [&](const char* key) {
    const Json* list = container.if_contains(key);
    return list != nullptr && list->is_array() ? list->get_array() : JsonArray();
  };
  const JsonArray command = words("command");
  if (command.empty()) return words("args").empty();
  const std::string_view program = text_of(command.at(0));
  return program.substr(program.rfind('/') + 1) == "sshd";
}

void finish_worker(const TrainingJob& job, const TrainingSettings& settings, JsonObject& pod,
                   JsonObject& container) {
  // Daemons of Open MPI insist on the agent being there, though they call nobody.
  if (by_exec(settings)) {
    mount(container, kConfigVolume, kConfigPath);
    append_item(pod["spec"].get_object(), "volumes", config_volume(job, {{"kubexec.sh", 0555}}));
  }
  if (!only_waits(container)) return;
  if (by_exec(settings)) {
    container["command"] = JsonArray{"sleep"};
    container["args"] = JsonArray{"365d"};
  } else if (!container.contains("command")) {
    container["command"] = JsonArray{"/usr/sbin/sshd"};
    container["args"] = JsonArray{"-De"};
  }
}

void finish_pod(const TrainingJob& job, const TrainingSettings& settings, const ReplicaGroup& group,
                int index, JsonObject& pod) {
  const bool launches = group.type == "Launcher";
  JsonObject& labels = object_at(pod["metadata"].get_object(), "labels");
  labels[kJobRoleLabel] = group.label;
  if (launcher_works(job)) labels[kReplicaIndexLabel] = launches ? "0" : std::to_string(index + 1);
  JsonObject& spec = pod["spec"].get_object();
  spec["hostname"] = replica_name(job, group, index);
  spec["subdomain"] = job.name;
  JsonObject* container = first_container(pod);
  if (container == nullptr) return;
  append_item(*container, "env", variable("K_MPI_JOB_ROLE", group.label));
  if (!launches) return finish_worker(job, settings, pod, *container);
  add_launcher_variables(job, settings, *container);
  mount(*container, kConfigVolume, kConfigPath);
  std::vector<ConfigItem> files{{"hostfile", 0444}, {"discover_hosts.sh", 0555}};
  if (by_exec(settings)) files.push_back({"kubexec.sh", 0555});
  append_item(pod["spec"].get_object(), "volumes", config_volume(job, files));
  if (by_exec(settings)) deliver_exec(job, settings, pod);
}

// Not before all workers run, where the job asks for that.
bool may_start(const TrainingJob& job, const ReplicaGroup& group,
               const std::vector<ReplicaPod>& pods) {
  if (group.type != "Launcher" ||
      text_at(*job.tree, {"spec", "launcherCreationPolicy"}) != "WaitForWorkersReady")
    return true;
  const ReplicaGroup* workers = job.group("Worker");
  return workers == nullptr ||
         running_workers(pods).size() >= static_cast<size_t>(workers->replicas);
}

}  // namespace

const Framework kMpiSsh{.has_services = false,
                        .finish_pod = finish_pod,
                        .extra_objects = extra_objects,
                        .may_start = may_start};

}  // namespace yard
