// MPIJob v2beta1 (kubeflow-jobs 4.8): names that resolve through one headless Service, and a
// launcher that may wait for its workers.

#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/mpi_files.h"

namespace yard {
namespace {

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

std::vector<Json> extra_objects(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  JsonObject config = mpi_object(job, "v1", "ConfigMap", job.name + "-config");
  config["data"] =
      JsonObject{{"hostfile", hostfile(job)}, {"discover_hosts.sh", discover_script(job, pods)}};
  JsonObject service = mpi_object(job, "v1", "Service", job.name);
  JsonObject spec{
      {"clusterIP", "None"},
      {"selector", JsonObject{{kOperatorLabel, job.kind->controller}, {kJobNameLabel, job.name}}}};
  if (launcher_works(job)) spec["publishNotReadyAddresses"] = true;
  service["spec"] = std::move(spec);
  return {std::move(config), std::move(service)};
}

void add_launcher_variables(const TrainingJob& job, JsonObject& container) {
  const auto set = [&](std::string_view name, std::string_view value) {
    append_item(container, "env", variable(name, value));
  };
  const std::string slots = std::to_string(mpi_slots(job));
  if (implementation(job) == "Intel") {
    set("I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    set("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10");
    set("I_MPI_PERHOST", slots);
  } else if (implementation(job) == "MPICH") {
    set("HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    set("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10");
  } else {
    set("OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    set("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    set("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
    set("OMPI_MCA_orte_set_default_slots", slots);
  }
  if (launcher_works(job)) return;
  set("NVIDIA_VISIBLE_DEVICES", "");
  set("NVIDIA_DRIVER_CAPABILITIES", "");
}

bool is_without_program(const JsonObject& container) {
  const auto is_empty = [&](const char* key) {
    const Json* list = container.if_contains(key);
    return list == nullptr || !list->is_array() || list->get_array().empty();
  };
  return is_empty("command") && is_empty("args");
}

void finish_pod(const TrainingJob& job, const ReplicaGroup& group, int index, JsonObject& pod) {
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
  if (!launches) {
    if (is_without_program(*container)) {
      (*container)["command"] = JsonArray{"/usr/sbin/sshd"};
      (*container)["args"] = JsonArray{"-De"};
    }
    return;
  }
  add_launcher_variables(job, *container);
  mount(*container, kConfigVolume, kConfigPath);
  append_item(pod["spec"].get_object(), "volumes",
              config_volume(job, {{"hostfile", 0444}, {"discover_hosts.sh", 0555}}));
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
