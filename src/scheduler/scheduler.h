#pragma once
// Binds pods to nodes: follows both, and when something changes gives each waiting pod its turn:
// what is known → Placer → bind, or the reason why not. Some turns at a time, so that nobody on the
// loop waits for thousands. Serves every schedulerName. Loop thread.

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "scheduler/waiting_queue.h"

namespace yard {

class Scheduler {
 public:
  // `shares_network`: pods have the machine's own network, and its ports.
  Scheduler(Client& client, Loop& loop, bool shares_network = false);
  ~Scheduler();

  // Who may make ready for a pod while its binding is on its way to the disk: hears of each one
  // that is handed over, and of each that came to nothing. Whatever the pod is to run waits for its
  // stored binding.
  struct BindingListener {
    std::function<void(const Object& pod, const std::string& node)> begins;
    std::function<void(const std::string& uid)> failed;
  };
  void set_binding_listener(BindingListener listener) { listener_ = std::move(listener); }

 private:
  struct Waiting {
    ObjectPtr object;
    WaitingPod pod;
    bool gated = false;
    std::vector<std::string> claims;   // PersistentVolumeClaims it names
    std::vector<std::string> unbound;  // of those, the ones that wait to hear of a node
    bool binding = false;              // a write is under way
    std::string said;                  // why it waits, as last written,
    Time said_at{};
    std::string unsaid;  // and as it is since, where that is to be written later
  };
  using Turn = std::vector<const WaitingPod*>;

  void on_node(const ObjectEvent& event);
  void on_pod(const ObjectEvent& event);
  void hear_waiting(const ObjectEvent& event, const std::string& uid);
  void forget_waiting(const std::string& uid);
  void look_again();
  void go_on();
  void take_turns();
  size_t take_turn(const Turn& turn);
  bool was_refused(const WaitingPod& pod) const;
  bool passes_by(const WaitingPod& pod) const;
  void act(const Placement& placement, Waiting& waiting);
  void bind(Waiting& pod, const std::string& node);
  void judge_claims_of(Waiting& waiting);
  void select_node(const Waiting& waiting, const std::string& node);
  void say_why(Waiting& pod, const Placement& placement);
  void say_later(Waiting& pod, const std::string& why);
  void say_due();
  void write_why(Waiting& pod, const std::string& why, const std::string& nominated);
  void say_gated(const Waiting& pod);
  Json unscheduled(const char* reason, const std::string& message) const;
  void evict(const std::string& victim, const Waiting& for_whom, const std::string& node);

  Client& client_;
  Loop& loop_;
  EventRecorder events_;
  BindingListener listener_;
  Cluster cluster_;
  Placer placer_{cluster_};
  std::unordered_map<std::string, Waiting> waiting_;  // by uid: what no node has
  WaitingQueue queue_;                                // of those, who may be placed
  uint64_t arrivals_ = 0;
  // A pass gives everybody in the queue a turn; what changes meanwhile asks for another one.
  std::optional<WaitingQueue::Place> reached_;
  bool in_pass_ = false, look_again_ = false, is_posted_ = false;
  bool company_missed_ = false;     // somebody was refused in this pass whom a later one may help
  size_t bindings_ = 0;             // under way
  std::deque<std::string> to_say_;  // uids, in the order they are due
  TimerId say_timer_ = 0;
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
