#pragma once
// What both versions of MPIJob share: the files mpirun reads, and how pods come by them.

#include <string>
#include <string_view>
#include <vector>

#include "controllers/training/framework.h"

namespace yard {

int mpi_slots(const TrainingJob& job);
// The launcher asks for a GPU itself, so it takes ranks too.
bool launcher_has_gpu(const TrainingJob& job);
// Workers that run, by name.
std::vector<std::string> running_workers(const std::vector<ReplicaPod>& pods);

std::string launcher_name(const TrainingJob& job);
// Account, Role and RoleBinding with which the launcher may exec in its workers.
std::vector<Json> launcher_rights(const TrainingJob& job);
// Gives the launcher those rights and a kubectl at kExecProgram.
void deliver_exec(const TrainingJob& job, const TrainingSettings& settings, JsonObject& pod);

// An object of the job's beside its pods.
JsonObject mpi_object(const TrainingJob& job, std::string_view api_version, std::string_view kind,
                      std::string_view name);

// The first container of a pod, where MPI runs; null without any.
JsonObject* first_container(JsonObject& pod);
void append_item(JsonObject& parent, std::string_view key, Json item);
void mount(JsonObject& container, std::string_view volume, std::string_view path);
bool has_variable(const JsonObject& container, std::string_view name);

struct ConfigItem {
  std::string_view key;
  int mode;
};
// The job's ConfigMap as a volume with these of its files.
Json config_volume(const TrainingJob& job, const std::vector<ConfigItem>& items);

inline constexpr std::string_view kConfigVolume = "mpi-job-config";
inline constexpr std::string_view kConfigPath = "/etc/mpi";
inline constexpr std::string_view kExecProgram = "/opt/kube/kubectl";

}  // namespace yard
