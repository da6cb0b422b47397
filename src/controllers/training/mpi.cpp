// MPIJob v1 (kubeflow-jobs 4.7): the launcher reaches its workers by `kubectl exec`.

#include <fmt/format.h>

#include "api/tree.h"
#include "controllers/training/mpi_files.h"

namespace yard {
namespace {

std::string hostfile(const TrainingJob& job) {
  const int slots = mpi_slots(job);
  std::string text;
  if (launcher_has_gpu(job)) text += fmt::format("{} slots={}\n", launcher_name(job), slots);
  const ReplicaGroup* workers = job.group("Worker");
  for (int index = 0; workers != nullptr && index < workers->replicas; ++index)
    text += fmt::format("{}-worker-{} slots={}\n", job.name, index, slots);
  return text;
}

std::string exec_script(const TrainingJob& job) {
  const std::string_view main = text_at(*job.tree, {"spec", "mainContainer"});
  return fmt::format(
      "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n{} exec ${{POD_NAME}}{} -- /bin/sh -c \"$*\"",
      kExecProgram, main.empty() ? std::string() : fmt::format(" --container {}", main));
}

std::string discover_script(const TrainingJob& job, const std::vector<ReplicaPod>& pods) {
  const int slots = mpi_slots(job);
  std::string text = "#!/bin/sh";
  if (launcher_has_gpu(job)) text += fmt::format("\necho {}:{}\n", launcher_name(job), slots);
  for (const std::string& worker : running_workers(pods))
    text += fmt::format("\necho {}:{}", worker, slots);
  return text;
}

std::vector<Json> extra_objects(const TrainingJob& job, const TrainingSettings&,
                                const std::vector<ReplicaPod>& pods) {
  JsonObject config = mpi_object(job, "v1", "ConfigMap", job.name + "-config");
  config["data"] = JsonObject{{"hostfile", hostfile(job)},
                              {"kubexec.sh", exec_script(job)},
                              {"discover_hosts.sh", discover_script(job, pods)}};
  std::vector<Json> out = launcher_rights(job);
  out.insert(out.begin() + 1, std::move(config));
  return out;
}

void finish_worker(const TrainingJob& job, JsonObject& pod, JsonObject& container) {
  const Json* command = container.if_contains("command");
  if (command == nullptr || !command->is_array() || command->get_array().empty()) {
    container["command"] = JsonArray{"sleep"};
    container["args"] = JsonArray{"365d"};
  }
  mount(container, kConfigVolume, kConfigPath);
  append_item(pod["spec"].get_object(), "volumes", config_volume(job, {{"kubexec.sh", 0555}}));
}

void finish_launcher(const TrainingJob& job, const TrainingSettings& settings, JsonObject& pod,
                     JsonObject& container) {
  const auto set = [&](std::string_view name, std::string_view value) {
    append_item(container, "env", variable(name, value));
  };
  const bool names_bootstrap = has_variable(container, "I_MPI_HYDRA_BOOTSTRAP");
  const bool names_exec = has_variable(container, "I_MPI_HYDRA_BOOTSTRAP_EXEC");
  set("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
  set("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
  if (!launcher_has_gpu(job)) {
    set("NVIDIA_VISIBLE_DEVICES", "");
    set("NVIDIA_DRIVER_CAPABILITIES", "");
  }
  if (!names_bootstrap) set("I_MPI_HYDRA_BOOTSTRAP", "rsh");
  if (!names_exec) set("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh");
  append_item(
      pod["spec"].get_object(), "volumes",
      config_volume(job, {{"kubexec.sh", 0555}, {"hostfile", 0444}, {"discover_hosts.sh", 0555}}));
  mount(container, kConfigVolume, kConfigPath);
  deliver_exec(job, settings, pod);
}

void finish_pod(const TrainingJob& job, const TrainingSettings& settings, const ReplicaGroup& group,
                int, JsonObject& pod) {
  JsonObject* container = first_container(pod);
  if (container == nullptr) return;
  if (group.type == "Launcher") {
    finish_launcher(job, settings, pod, *container);
  } else {
    finish_worker(job, pod, *container);
  }
}

bool is_master(const TrainingJob&, const ReplicaGroup& group, int) {
  return group.type == "Launcher";
}

}  // namespace

const Framework kMpi{.is_master = is_master,
                     .has_services = false,
                     .finish_pod = finish_pod,
                     .extra_objects = extra_objects};

}  // namespace yard
