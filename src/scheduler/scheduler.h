#pragma once
// Binds pods to nodes: follows both, and when something changes runs one cycle: snapshot → schedule
// → bind. Serves every schedulerName. Loop thread.

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
  Scheduler(Client& client, Loop& loop);
  ~Scheduler();

 private:
  struct Bound {
    std::string node;
    Amounts requests;
  };
  void on_pod(const ObjectEvent& event);
  void run_cycle_soon();
  void run_cycle();
  ClusterSnapshot take_snapshot() const;
  void bind(const WaitingPod& pod, const std::string& node);
  void say_why(const WaitingPod& pod, const std::string& why);

  Client& client_;
  Loop& loop_;
  EventRecorder events_;
  std::map<std::string, Bound> bound_;        // by uid: what takes room
  std::map<std::string, ObjectPtr> waiting_;  // by uid: what no node has
  std::map<std::string, bool> binding_;       // by uid: a write is under way
  std::vector<Client::Subscription> subscriptions_;
  bool cycle_is_due_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
