#pragma once
// The pods and Services a training job makes (kubeflow-jobs 2), and the small writes to them.

#include "controllers/training/framework.h"
#include "controllers/training/replica_pod.h"

namespace yard {

struct TrainingSettings {
  // How long after the end of a job that says nothing about it its pods may still run (R6).
  Duration stop_after = std::chrono::seconds(30);
  // Where nobody looks at kWaitFor, an init container waits for the master; "" is no such.
  std::string init_image;
  int init_tries = 100;
  Duration lost_after = std::chrono::seconds(60);  // R8, after the grace period
  bool frees_lost_pods = true;                     // those of lost nodes are deleted by force
  bool counts_disruptions = false;                 // against backoffLimit (R2)
  std::string cluster_domain;  // behind the addresses of a TFJob's tasks; "" ends them with .svc
  // A kubectl for launchers that reach their workers by exec: this machine's program, else an init
  // container of that image brings one.
  std::string exec_program;
  std::string exec_image = "kubeflow/kubectl-delivery:latest";
  size_t most_creates = 50;   // replicas a pass, so that the loop stays free
  bool gang_restart = false;  // of jobs that do not say it themselves (kGangRestart)
};

// Pods of one type, made from one template: what they share is put together once.
class PodMaker {
 public:
  // `gang_size`: so many of the job's pods are placed at once, or none.
  PodMaker(const TrainingJob& job, const ReplicaGroup& group, const std::string& shared,
           const TrainingSettings& settings, int gang_size);
  Json make(int index) const;

 private:
  void set_labels();
  void set_spec();
  const TrainingJob& job_;
  const ReplicaGroup& group_;
  const std::string& shared_;
  const TrainingSettings& settings_;
  const Framework& framework_;
  JsonObject stamp_;  // a pod without name, index and environment
};

Json replica_service(const TrainingJob& job, const ReplicaGroup& group, int index);
Json training_owner(const TrainingJob& job);
JsonObject replica_labels(const TrainingJob& job, const ReplicaGroup& group, int index);
// `a=b,c=d` of the labels all replicas of a type share.
std::string replica_selector(const TrainingJob& job, const ReplicaGroup& group);

ClientWrite create_object(const TrainingJob& job, Json object);
ClientWrite delete_replica(const TrainingJob& job, const ReplicaPod& pod);
ClientWrite force_delete_replica(const TrainingJob& job, const ReplicaPod& pod);
// Ends its processes and keeps the pod and its logs.
ClientWrite stop_replica(const TrainingJob& job, const ReplicaPod& pod);
// For a pod that waits for its gang.
ClientWrite set_gang_size(const TrainingJob& job, const ReplicaPod& pod, int size);
ClientWrite delete_service(const TrainingJob& job, std::string_view name);

}  // namespace yard
