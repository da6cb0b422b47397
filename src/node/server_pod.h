#pragma once
// The server as a pod of its own node: `kubectl get pods -n kubeflow` shows the operator that runs
// the training jobs, and `kubectl logs` what its controllers say. A mirror, as the kubelet makes of
// its static pods: nothing is started or ended with it, and whoever deletes it gets it back. Loop
// thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/client.h"

namespace yard {

struct ServerProcess {
  int pid = 0;
  Time started{};
  std::vector<std::string> command;
  bool follows_crash = false;  // the server before this one did not end by itself
};
// This process, as the kernel has it.
ServerProcess read_own_process(Time now);

struct ServerPodFacts {
  ServerProcess process;
  std::string node, node_uid, address;
};

// Where its own output goes, when that is a file; "" else.
std::string own_log_file();

// The next write that brings the pod to what it should be; nothing when it is that, or when a pod
// that is not ours has its name. `live` is null where there is none; `known` is the last status
// seen of it, which outlives a deletion. Pure.
std::optional<ClientWrite> plan_server_pod(const ServerPodFacts& facts, const Json& live,
                                           const Json& known);
std::string server_pod_name(std::string_view node);

class ServerPod {
 public:
  ServerPod(Client& client, Loop& loop, ServerPodFacts facts);
  ~ServerPod();
  ServerPod(const ServerPod&) = delete;
  ServerPod& operator=(const ServerPod&) = delete;

  const std::string& uid() const { return uid_; }  // "" while there is none

 private:
  void hear_pod(const ObjectEvent& event);
  void remove_others();
  void ensure_later();
  void ensure();
  void look_again(Duration wait);

  Client& client_;
  Loop& loop_;
  ServerPodFacts facts_;
  std::string name_, uid_;
  Json known_;
  bool busy_ = false, again_ = false;
  int failures_ = 0;
  Time create_after_{};
  TimerId retry_ = 0;
  Client::Subscription pods_ = 0, nodes_ = 0, namespaces_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
