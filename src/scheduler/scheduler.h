#pragma once
// Binds pods to nodes: follows both, and when something changes runs one cycle: what is known →
// schedule → bind. Serves every schedulerName. Loop thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "scheduler/schedule.h"

namespace yard {

class Scheduler {
 public:
  // `shares_network`: pods have the machine's own network, and its ports.
  Scheduler(Client& client, Loop& loop, bool shares_network = false);
  ~Scheduler();

 private:
  struct Waiting {
    ObjectPtr object;
    WaitingPod pod;
    bool gated = false;
    std::vector<std::string> claims;   // PersistentVolumeClaims it names
    std::vector<std::string> unbound;  // of those, the ones that wait to hear of a node
    bool binding = false;              // a write is under way
    std::string said;                  // why it waits, as last written
  };
  void on_node(const ObjectEvent& event);
  void on_pod(const ObjectEvent& event);
  void run_cycle_soon();
  void run_cycle();
  void act(const Placement& placement, const std::string& uid);
  void bind(Waiting& pod, const std::string& node);
  void judge_claims_of(Waiting& waiting);
  void select_node(const Waiting& waiting, const std::string& node);
  void say_why(Waiting& pod, const Placement& placement);
  void say_gated(const Waiting& pod);
  Json unscheduled(const char* reason, const std::string& message) const;
  void evict(const std::string& victim, const Waiting& for_whom, const std::string& node);

  Client& client_;
  Loop& loop_;
  EventRecorder events_;
  Cluster cluster_;
  std::map<std::string, Waiting> waiting_;  // by uid: what no node has
  std::vector<Client::Subscription> subscriptions_;
  bool cycle_is_due_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
