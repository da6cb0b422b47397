#pragma once
// The node agent: for each pod bound to this node observe → plan (plan_pod.h) → act. It knows the
// cluster through Client and processes through PodRuntime. Loop thread.

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "client/usage_source.h"
#include "node/images/node_images.h"
#include "node/network/pod_network.h"
#include "node/node_object.h"
#include "node/node_registration.h"
#include "node/plan_pod.h"
#include "node/pod_launch.h"
#include "node/pod_runtime.h"
#include "node/pod_tokens.h"
#include "node/pressure.h"
#include "node/probe_runner.h"

namespace yard {

class Agent {
 public:
  // `tokens` may be null: then the tokens that pods mount are empty.
  Agent(Client& client, Loop& loop, PodRuntime& runtime, PodNetwork& network, NodeOptions options,
        MachineFacts machine, TokenSource* tokens = nullptr);
  ~Agent();

  // Before start().
  void set_tls(TlsMaker maker) { prober_.set_tls(std::move(maker)); }
  // How much the machine has left (blocking), and what pods use of it: without these no pod is
  // evicted when it runs short. `usage` may be null.
  void set_meter(std::function<MachineRoom()> room, UsageSource* usage);
  // Who else computes on the machine's GPUs (node/gpus.h); blocking.
  void set_gpu_processes(OutsiderSearch search) { gpu_processes_ = std::move(search); }
  void set_gpus(std::vector<Gpu> gpus) { machine_.gpus = std::move(gpus); }
  const NodeOptions& options() const { return options_; }
  // Likewise; without them no image is unpacked here and none is pulled.
  void set_images(NodeImages* images) { images_ = images; }
  // Registers the node, takes up the pods of an earlier server, then follows the API. `registered`
  // is called once the first node takes pods, or could not be made.
  void start(std::function<void()> registered = {});
  // The pods of this node as they are known here, for whoever reads their logs.
  const PodRuntime& runtime() const { return runtime_; }
  // Ends all pods as a node that shuts down does, with their grace and 10 s at most; `done` when
  // their last status is stored. Pods that have not begun wait for the next start.
  void shut_down(std::function<void()> done);
  // Says on the node what its pods miss of the network.
  void set_network_problem(std::string problem);
  // What a scheduler beside us is about to bind is made ready while its binding is stored
  // (agent_binding.cpp), so that only its containers have to wait for that.
  void binding_begins(const Object& object, const std::string& node);
  void binding_failed(const std::string& uid);

 private:
  // The image of a container on its way here.
  struct Pull {
    bool is_under_way = false;
    TakeProgress progress;  // how far it has come, since when, and as it was told
    std::string shown;
    Time began{}, told{};
    int done_for = -1;  // the run that it was pulled for, and what is said of it
    std::string words;
    int failures = 0;
    std::string problem;
    Time wait_until{};
  };
  // What the agent remembers of one pod between two looks.
  struct Pod {
    std::string uid, ns, name;
    bool busy = false;  // a write is under way; then the pod is looked at again
    // That write only tells that the pod runs (plan_pod.h): it is looked at again if anything
    // happens besides.
    bool tells = false;
    Revision heard = 0;  // of its object, the newest
    bool again = false;
    bool posted = false;              // a look is on its way
    std::optional<Time> hold_status;  // a status waits until then for something to tell
    Time hold_status_until{};         // at most
    bool starting = false;
    bool shim_begins = false;       // it is up, and no container has started yet
    bool gone = false;              // its object is no more, or not bound here
    bool was_readied = false;       // once, before it was bound
    std::vector<std::string> gpus;  // while it starts or runs
    std::string pod_ip;
    std::map<std::string, int> requested;
    std::map<std::string, StartProblem> problems;
    std::map<std::string, int> failures;  // starts in a row that failed, for the retry's length
    std::map<std::string, RunMemory, std::less<>> memory;
    std::map<std::string, Pull> pulls;  // by container
    std::optional<Eviction> eviction;
    StartGate gate;
    bool measuring = false;
    Time measure_due{};
    TimerId timer = 0;
    Time timer_due{};
  };

  void drop_other_nodes();
  void write_nodes();
  void take_up_pods();
  void on_pod(const ObjectEvent& event);
  Pod& pod_of(std::string_view uid, std::string_view ns, std::string_view name);
  void sync_later(const std::string& uid);
  void sync(const std::string& uid);
  void make_ready(Pod& pod, const ObjectPtr& object);
  void drop_unbound_pods();
  PodWorld observe(Pod& pod, SharedJson tree);
  void act(Pod& pod, PodWorld& world, PodPlan plan);
  bool can_hold_status(const Pod& pod) const;
  void hold_status(Pod& pod);
  void observe_gate(Pod& pod, PodWorld& world);
  void open_gate(Pod& pod, const PodWorld& world, std::optional<Time> holds_until);
  void start_pod(Pod& pod, const SharedJson& tree);
  void launch_beside_outsiders(Pod& pod, const SharedJson& tree);
  void launch_pod(Pod& pod, const Json& tree);
  void renew_tokens(const std::string& uid);
  void start_container(Pod& pod, const Json& tree, const PodPlan::Start& start);
  void note_problem(Pod& pod, const Json& tree, const std::string& container, std::string reason,
                    std::string message);
  void judge_shim(Pod& pod, const Object& object);
  void end_gone_pod(Pod& pod);
  void refresh_memory(Pod& pod, const PodRecord* record);
  RunMemory* memory_of(const std::string& uid, const std::string& container, int run);
  void ask_probe(Pod& pod, const Json& tree, const PodPlan::Probe& probe);
  void take_answer(const std::string& uid, const PodPlan::Probe& probe,
                   const HandlerOutcome& outcome);
  void run_hook(Pod& pod, const Json& tree, const PodPlan::Hook& hook);
  void finish_hook(const std::string& uid, const PodPlan::Hook& hook,
                   const HandlerOutcome& outcome);
  void record_for(const std::string& uid, const EventNote& text);
  void measure_if_due(Pod& pod, const Json& tree);
  void watch_pressure();
  void look_at_room();
  void take_room(const MachineRoom& room);
  void make_room(Shortage shortage, const MachineRoom& room);
  void evict_for(Shortage shortage, const MachineRoom& room,
                 const std::map<std::string, PodUsage>& used);
  void look_at_shutdown();
  void write_status(Pod& pod, const PodWorld& world, PodPlan& plan,
                    std::vector<EventNote> announced);
  void delete_object(Pod& pod);
  void wait_until(Pod& pod, Time at);
  std::string pod_address(const Pod& pod, const Json& tree, const PodRecord* record);
  LaunchFacts launch_facts(const Pod& pod);
  std::vector<Json> services_beside(const Pod& pod) const;
  std::set<std::string> given_gpus() const;
  bool give_gpus(Pod& pod, const Json& tree);
  void look_at_gpus(std::function<void()> then);
  void take_outsiders(std::vector<GpuProcess> outsiders);
  void tell_of_outsiders(const Pod& pod);
  ImageResolution resolve(const Json& pod, const Json& container) const;
  bool have_image(Pod& pod, const Json& tree, const Json& container, const PodPlan::Start& start,
                  const ImageResolution& resolution);
  void begin_pull(Pod& pod, const Json& tree, const PodPlan::Start& start, const std::string& image,
                  const PullNeed& from);
  std::string pull_shown(Pod& pod, Pull& pull);
  void tell_pull(const std::string& uid, const std::string& container, const TakeProgress& progress,
                 Duration elapsed);
  void finish_pull(const std::string& uid, const PodPlan::Start& start, const std::string& image,
                   const PullNeed& from, const Result<PulledImage>& pulled);
  void show_problem(Pod& pod, const std::string& container, StartProblem problem);
  void tell_images();

  Client& client_;
  Loop& loop_;
  PodRuntime& runtime_;
  PodNetwork& network_;
  NodeImages* images_ = nullptr;
  NodeOptions options_;
  MachineFacts machine_;
  EventRecorder events_;
  ProbeRunner prober_;
  NodeRegistration registration_;
  std::optional<Time> shut_down_since_;
  std::function<void()> shut_down_done_;
  std::function<MachineRoom()> read_room_;
  UsageSource* usage_ = nullptr;
  OutsiderSearch gpu_processes_;
  std::vector<GpuProcess> outsiders_;  // on our GPUs, when they were last looked at
  TimerId gpu_timer_ = 0;
  NodePressure pressure_;
  TimerId pressure_timer_ = 0;
  bool looks_at_room_ = false;
  PodTokens tokens_;
  std::map<std::string, Pod, std::less<>> pods_;
  std::set<std::string, std::less<>> unbound_;  // of those, who are made ready ahead
  ObjectPtr node_;                              // what `allocatable_` was read from
  Json allocatable_;                            // of the node
  Client::Subscription subscription_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What this machine has left. Blocking.
MachineRoom read_room(const std::string& state_folder);

}  // namespace yard
