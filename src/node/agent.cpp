#include "node/agent.h"

#include <algorithm>
#include <signal.h>

#include <fmt/format.h>

#include "api/core/mirror_pod.h"
#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "client/status_update.h"
#include "node/images/driver_files.h"
#include "node/images/local_images.h"
#include "node/pod_storage.h"
#include "node/pod_volumes.h"
#include "node/seccomp_profile.h"
#include "node/simulated/played_pods.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"};
using std::chrono::seconds;
constexpr Duration kFirstStatusHold = std::chrono::milliseconds(100);
constexpr Duration kLateLook = std::chrono::milliseconds(10), kLongestStatusHold = seconds(2);
constexpr Duration kFirstRetry = seconds(1), kLongestRetry = seconds(60);
constexpr Duration kConflictPause = std::chrono::milliseconds(20);

std::string_view image_named(const Json& pod, std::string_view container) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& each : list_at(pod, {"spec", list})) {
      if (text_at(each, {"name"}) == container) return text_at(each, {"image"});
    }
  }
  return "";
}

// What a simulated node needs of a pod: neither volumes nor images.
Result<PodLaunch> played_launch(const Json& tree) {
  PodLaunch out;
  out.uid = text_at(tree, {"metadata", "uid"});
  out.ns = text_at(tree, {"metadata", "namespace"});
  out.name = name_of(tree);
  out.play = text_at(tree, {"metadata", "annotations", kPlayAnnotation});
  if (out.play.empty() && text_at(tree, {"spec", "restartPolicy"}) == "Always")
    out.play = "run=forever";  // a service, as people mean it
  return out;
}

EventNote note_of(const PodEvent& event) {
  return {event.type == "Warning" ? EventNote::Type::Warning : EventNote::Type::Normal,
          event.reason, event.message, event.field_path};
}

bool is_at(const ObjectPtr& object, std::string_view version) {
  return object != nullptr && std::to_string(object->revision()) == version;
}

}  // namespace

Agent::Agent(Client& client, Loop& loop, PodRuntime& runtime, PodNetwork& network,
             NodeOptions options, MachineFacts machine, TokenSource* tokens)
    : client_(client),
      loop_(loop),
      runtime_(runtime),
      network_(network),
      options_(std::move(options)),
      machine_(std::move(machine)),
      events_(loop, client, "kubelet",
              options_.name.empty() ? lower(machine_.hostname) : options_.name),
      prober_(loop, runtime),
      registration_(client, loop,
                    [this](const std::string& name, const Json& stored) {
                      return node_object(options_, name, machine_, stored, loop_.now());
                    }),
      tokens_(tokens, loop, [this](const std::string& uid) { renew_tokens(uid); }) {
  if (options_.name.empty()) options_.name = lower(machine_.hostname);
}

Agent::~Agent() {
  *alive_ = false;
  if (subscription_ != 0) client_.unfollow(subscription_);
  loop_.cancel(pressure_timer_);
  loop_.cancel(gpu_timer_);
  for (const auto& [uid, pod] : pods_)
    loop_.cancel(pod.timer);
}

void Agent::start(std::function<void()> registered) {
  registration_.on_first(std::move(registered));
  runtime_.on_change([this, alive = alive_](const std::string& uid) {
    if (*alive) sync(uid);
  });
  runtime_.recover([this, alive = alive_] {
    if (!*alive) return;
    drop_other_nodes();
    if (images_ != nullptr) {
      options_.images_version = images_->version();
      options_.image_list = images_->list();
    }
    // A device that somebody else is on is not offered first and taken back later.
    look_at_gpus([this] {
      write_nodes();
      take_up_pods();
      watch_pressure();
    });
  });
}

void Agent::set_network_problem(std::string problem) {
  options_.network_problem = std::move(problem);
  if (subscription_ != 0) write_nodes();  // before, the first write says it
}

void Agent::write_nodes() {
  for (const std::string& name : node_names(options_))
    registration_.write(name);
}

// A yard that was simulated before, or is so now, has no use for the nodes of the other way.
void Agent::drop_other_nodes() {
  for (const ObjectPtr& object : client_.list(kNode)) {
    const std::string name(object->name());
    const Json tree = object->tree();
    const bool was_simulated = find_path(tree, {"metadata", "labels", kSimulatedLabel}) != nullptr;
    const bool is_ours = was_simulated || name == options_.name;
    if (!is_ours || is_node_of(options_, name)) continue;
    client_.submit({ClientWrite::Verb::Delete, kNode, "", name, JsonObject{}},
                   [](const Result<ObjectPtr>&) {});
  }
}

void Agent::take_up_pods() {
  subscription_ = client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); });
  for (const ObjectPtr& object : client_.list(kPod))
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
  for (const std::string& uid : runtime_.pods()) {
    const PodRecord* record = runtime_.find(uid);
    if (pods_.contains(uid)) {
      const ObjectPtr object = client_.get(kPod, record->ns, record->name);
      if (record->alive && object != nullptr && object->uid() == uid) tokens_.adopt(object->tree());
      continue;
    }
    // Its object is gone, or was made anew: what runs of it is ended.
    pod_of(uid, record->ns, record->name).gone = true;
    sync_later(uid);
  }
}

Agent::Pod& Agent::pod_of(std::string_view uid, std::string_view ns, std::string_view name) {
  auto found = pods_.find(uid);
  if (found != pods_.end()) return found->second;
  Pod& pod = pods_[std::string(uid)];
  pod.uid = uid;
  pod.ns = ns;
  pod.name = name;
  return pod;
}

void Agent::on_pod(const ObjectEvent& event) {
  const Object& object = *event.object;
  // The first of a pod's selectable fields is spec.nodeName: pods of others are not parsed.
  if (object.fields().empty() || !is_node_of(options_, object.fields()[0])) return;
  if (is_mirror_pod(object)) return;  // what it shows runs without us
  Pod& pod = pod_of(object.uid(), object.ns(), object.name());
  unbound_.erase(pod.uid);
  if (event.type == ObjectEvent::Type::Deleted) pod.gone = true;
  pod.heard = object.revision();
  if (!pod.tells) sync_later(pod.uid);
}

// A look that is due for several reasons is taken once.
void Agent::sync_later(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || std::exchange(found->second.posted, true)) return;
  loop_.post([this, uid, alive = alive_] {
    if (!*alive) return;
    const auto there = pods_.find(uid);
    if (there != pods_.end() && there->second.posted) sync(uid);
  });
}

void Agent::sync(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  pod.posted = false;
  pod.again = pod.again || pod.busy;
  const ObjectPtr object = client_.get(kPod, pod.ns, pod.name);
  if (pod.gone || object == nullptr || object->uid() != pod.uid) {
    if (!pod.busy) end_gone_pod(pod);
    return;
  }
  if (unbound_.contains(uid)) return make_ready(pod, object);
  if (shut_down_since_) look_at_shutdown();
  // Nothing of it runs any more, and what there is to tell follows the write that is under way.
  if (const PodRecord* record = pod.busy ? runtime_.find(pod.uid) : nullptr;
      record != nullptr && !record->alive)
    return;
  judge_shim(pod, *object);
  PodWorld world = observe(pod, client_.tree(object));
  PodPlan plan = plan_pod(world);
  if (log_level() <= LogLevel::Debug) {
    if (const std::string text = to_text(plan); !text.empty())
      log_debug("pod {}/{}: {}", pod.ns, pod.name, text);
  }
  act(pod, world, std::move(plan));
}

PodWorld Agent::observe(Pod& pod, SharedJson tree) {
  PodWorld world;
  world.record = runtime_.find(pod.uid);
  if (world.record == nullptr || !world.record->alive) {
    pod.requested.clear();
  } else {
    pod.starting = false;
    std::erase_if(pod.requested, [&](const auto& entry) {
      const ContainerRun* newest = world.record->newest_run(entry.first);
      return newest != nullptr && newest->run >= entry.second;
    });
  }
  refresh_memory(pod, world.record);
  if (pod.pod_ip.empty()) {
    pod.pod_ip = pod_address(pod, tree, world.record);
  }
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_at(tree, {"spec", list})) {
      ImageResolution image = resolve(tree, container);
      if (const auto pull = pod.pulls.find(std::string(text_at(container, {"name"})));
          pull != pod.pulls.end()) {
        image.pulled_for = pull->second.done_for;
        image.pulled_words = pull->second.words;
        image.pull_progress = pull_shown(pod, pull->second);
      }
      world.images.emplace(text_at(container, {"name"}), std::move(image));
    }
  }
  world.pod = std::move(tree);
  world.now = loop_.now();
  world.pod_ip = pod.pod_ip;
  world.host_ip = options_.address;
  world.starting = pod.starting;
  world.requested = pod.requested;
  world.problems = pod.problems;
  world.memory = pod.memory;
  world.eviction = pod.eviction;
  world.node_ends = shut_down_since_;
  world.writing = pod.busy;
  world.can_wait = can_hold_status(pod);
  observe_gate(pod, world);
  return world;
}

void Agent::act(Pod& pod, PodWorld& world, PodPlan plan) {
  // While a status is being stored containers need not wait for the disk; what the next one tells
  // follows it.
  const bool waits = plan.status_may_wait && world.can_wait;
  if (waits && !pod.busy) hold_status(pod);
  const bool may_write = !pod.busy && !waits;
  // What a status tells is announced once that status is stored: a lost race announces nothing
  // twice.
  std::vector<EventNote> announced;
  for (const PodEvent& event : plan.events) {
    EventNote text = note_of(event);
    // These follow from a deed, not from a status.
    const bool at_once = event.reason == "Killing" || event.reason == kGateEvent;
    if (event.reason == kGateEvent) pod.gate.announced = true;
    if (!at_once) {
      if (!may_write) continue;
      announced.push_back(std::move(text));
    } else {
      events_.record(world.pod, text);
    }
  }
  if (plan.start_pod) start_pod(pod, world.pod);
  if (plan.opens_gate) open_gate(pod, world, plan.holds_until);
  for (const PodPlan::Start& start : plan.start)
    start_container(pod, world.pod, start);
  for (const std::string& container : plan.ends)
    pod.memory[container].end_began = loop_.now();
  for (const PodPlan::Hook& hook : plan.hooks)
    run_hook(pod, world.pod, hook);
  for (const PodPlan::Probe& probe : plan.probes)
    ask_probe(pod, world.pod, probe);
  for (const PodPlan::Signal& signal : plan.signals) {
    pod.memory[signal.container].told_to_end = true;
    runtime_.signal(pod.uid, signal.container, signal.number);
  }
  if (world.record != nullptr && world.record->alive) measure_if_due(pod, world.pod);
  if (plan.stop) runtime_.stop(pod.uid);
  if (plan.remove && may_write) {
    runtime_.remove(pod.uid);
    network_.release(pod.uid);
    sync_later(pod.uid);
  }
  if (plan.look_again) wait_until(pod, *plan.look_again);
  if (!may_write) return;
  if (plan.status) return write_status(pod, world, plan, std::move(announced));
  for (const EventNote& event : announced)
    events_.record(world.pod, event);
  if (plan.delete_object) delete_object(pod);
}

// Most pods run within milliseconds: then one status tells it all, and one write is spared. Where
// this look itself comes late there is much to do, and the start may take longer for that.
bool Agent::can_hold_status(const Pod& pod) const {
  if (!pod.hold_status) return true;
  const Time now = loop_.now();
  if (now >= pod.hold_status_until) return false;
  return now < *pod.hold_status || now - *pod.hold_status >= kLateLook;
}

void Agent::hold_status(Pod& pod) {
  const Time now = loop_.now();
  if (!pod.hold_status) {
    pod.hold_status = now + kFirstStatusHold;
    pod.hold_status_until = now + kLongestStatusHold;
  }
  if (now >= *pod.hold_status)
    pod.hold_status = std::min(now + kFirstStatusHold, pod.hold_status_until);
  wait_until(pod, *pod.hold_status);
}

LaunchFacts Agent::launch_facts(const Pod& pod) {
  LaunchFacts out;
  out.node_name = options_.name;
  out.env.pod_ip = pod.pod_ip;
  out.env.host_ip = options_.address;
  if (const ObjectPtr node = client_.get(kNode, "", options_.name); node != node_) {
    node_ = node;
    const Json tree = node != nullptr ? node->tree() : Json();
    const Json* allocatable = find_path(tree, {"status", "allocatable"});
    allocatable_ = allocatable != nullptr ? *allocatable : Json();
  }
  if (!allocatable_.is_null()) out.env.allocatable = allocatable_;
  out.env.find = [this, ns = pod.ns](std::string_view kind, std::string_view name) {
    const bool is_volume = kind == "PersistentVolume";  // the only one without a namespace
    const ObjectPtr object = client_.get({"v1", std::string(kind)}, is_volume ? "" : ns, name);
    return object == nullptr ? SharedJson() : client_.tree(object);
  };
  out.env.token = [this, uid = pod.uid](std::string_view audience, int64_t seconds) {
    return tokens_.token(uid, audience, seconds);
  };
  out.system_call_profile = [folder = options_.state_folder + "/seccomp"](std::string_view name) {
    return read_profile(folder, name);
  };
  out.network = network_.facts();
  out.processes_limit = options_.pod_pids_limit;
  if (!machine_.gpus.empty()) {
    const PodRecord* record = runtime_.find(pod.uid);
    out.gpus = record != nullptr && record->alive ? record->gpus : pod.gpus;
  }
  out.memory_bytes = machine_.memory_bytes;
  out.cpus = machine_.cpus;
  return out;
}

std::vector<Json> Agent::services_beside(const Pod& pod) const {
  std::vector<Json> out;
  for (const ObjectPtr& service : client_.list({"v1", "Service"}, pod.ns)) {
    if (pod.ns != "default" || service->name() != "kubernetes") out.push_back(service->tree());
  }
  return out;
}

void Agent::start_pod(Pod& pod, const SharedJson& tree) {
  pod.starting = true;
  if (options_.simulated > 0 || !tokens_.has_tokens_for(tree))
    return launch_beside_outsiders(pod, tree);
  tokens_.prepare(tree, options_.name, [this, uid = pod.uid, tree](const Result<void>& ready) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    if (ready) return launch_beside_outsiders(found->second, tree);
    found->second.starting = false;
    note_problem(found->second, tree, "", "FailedMount",
                 "MountVolume.SetUp failed: failed to fetch token: " + ready.error().message);
  });
}

// The mounted files change; containers run on.
void Agent::renew_tokens(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const ObjectPtr object = client_.get(kPod, found->second.ns, found->second.name);
  if (object == nullptr || object->uid() != uid) return;
  auto volumes = token_volumes(object->tree(), launch_facts(found->second).env);
  if (!volumes)
    return log_warning("the tokens of pod {}/{} were not renewed: {}", found->second.ns,
                       found->second.name, volumes.error().message);
  for (LaunchVolume& volume : *volumes)
    runtime_.replace_files(uid, std::move(volume));
}

// Who wants devices gets those that nobody else is on, as they are now.
void Agent::launch_beside_outsiders(Pod& pod, const SharedJson& tree) {
  if (options_.simulated > 0 || gpus_asked(tree) == 0) return launch_pod(pod, tree);
  look_at_gpus([this, uid = pod.uid, tree] {
    if (const auto found = pods_.find(uid); found != pods_.end()) launch_pod(found->second, tree);
  });
}

void Agent::launch_pod(Pod& pod, const Json& tree) {
  if (options_.simulated == 0 && !give_gpus(pod, tree)) {
    pod.starting = false;
    return note_problem(pod, tree, "", "UnexpectedAdmissionError",
                        fmt::format("Allocate failed: {} of {} asked, fewer are free",
                                    gpus_asked(tree), kGpuResource));
  }
  auto launch = options_.simulated > 0 ? played_launch(tree) : pod_launch(tree, launch_facts(pod));
  if (!launch) {
    pod.starting = false;
    return note_problem(pod, tree, "", "FailedMount", launch.error().message);
  }
  runtime_.start_pod(std::move(*launch), [this, uid = pod.uid,
                                          alive = alive_](const Result<void>& started) {
    if (!*alive) return;
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.starting = false;
    watch_pressure();
    if (started) {
      tell_of_outsiders(found->second);
      found->second.problems.erase("");
      found->second.shim_begins = true;
    } else if (const ObjectPtr object = client_.get(kPod, found->second.ns, found->second.name)) {
      // What the network lacks comes as ServiceUnavailable (node/network/pod_network.h).
      const bool network = started.error().reason == Reason::ServiceUnavailable;
      note_problem(found->second, object->tree(), "",
                   network ? "FailedCreatePodSandBox" : "FailedMount",
                   (network ? "Failed to create pod sandbox: " : "") + started.error().message);
    }
    sync(uid);
  });
}

void Agent::start_container(Pod& pod, const Json& tree, const PodPlan::Start& start) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_at(tree, {"spec", list})) {
      if (text_at(container, {"name"}) != start.container) continue;
      ContainerLaunchResult made;
      if (options_.simulated > 0) {
        made.launch.container = start.container;
        made.launch.run = start.run;
      } else {
        LaunchFacts facts = launch_facts(pod);
        facts.services = services_beside(pod);
        facts.image = on_this_machine(resolve(tree, container));
        if (!have_image(pod, tree, container, start, facts.image)) return;
        if (images_ != nullptr) tell_images();
        if (facts.image.entry.unpacked && facts.gpus) facts.driver_files = driver_files();
        made = container_launch(tree, container, start.run, facts);
      }
      if (made.refusal)
        return note_problem(pod, tree, start.container, made.refusal->reason,
                            made.refusal->message);
      pod.problems.erase(start.container);
      pod.failures.erase(start.container);
      pod.requested[start.container] = start.run;
      if (pod.gate.holds && pod.gate.holds->until > loop_.now())
        made.launch.held = {pod.gate.holds->address, pod.gate.holds->port,
                            pod.gate.holds->until - loop_.now()};
      runtime_.start(pod.uid, std::move(made.launch),
                     [this, uid = pod.uid, container_name = start.container,
                      alive = alive_](const Result<void>& started) {
                       if (!*alive || started) return;
                       const auto found = pods_.find(uid);
                       if (found == pods_.end()) return;
                       log_warning("pod {}/{}: container {} was not started: {}", found->second.ns,
                                   found->second.name, container_name, started.error().message);
                       found->second.requested.erase(container_name);
                       sync_later(uid);
                     });
    }
  }
}

// A shim that ends before its first container has not got what it needs; the next waits a little
// longer each time.
void Agent::judge_shim(Pod& pod, const Object& object) {
  const PodRecord* record = runtime_.find(pod.uid);
  if (!pod.shim_begins || record == nullptr) return;
  if (!record->runs.empty()) {
    pod.shim_begins = false;
    pod.failures.erase("");
  } else if (!record->alive) {
    pod.shim_begins = false;
    note_problem(
        pod, object.tree(), "", "FailedCreatePodSandBox",
        fmt::format("Failed to create pod sandbox: the pod's shim ended before a container "
                    "could start; its words are in {}/run/{}/shim.log",
                    options_.state_folder, pod.uid));
  }
}

// Waits a little longer each time; the status shows the reason meanwhile.
void Agent::note_problem(Pod& pod, const Json& tree, const std::string& container,
                         std::string reason, std::string message) {
  // Found again, and told, once it is bound.
  if (unbound_.contains(pod.uid)) return sync_later(pod.uid);
  const int failures = std::min(pod.failures[container]++, 6);
  const Duration wait = std::min(kLongestRetry, kFirstRetry * (1 << failures));
  if (container.empty()) events_.record(tree, {EventNote::Type::Warning, reason, message});
  if (reason == "ErrImagePull" && failures > 0) {
    message = fmt::format("Back-off pulling image {}: ErrImagePull: {}",
                          quoted(image_named(tree, container)), message);
    reason = "ImagePullBackOff";
  }
  pod.problems[container] = {std::move(reason), std::move(message), loop_.now() + wait};
  wait_until(pod, loop_.now() + wait);
  sync_later(pod.uid);
}

void Agent::write_status(Pod& pod, const PodWorld& world, PodPlan& plan,
                         std::vector<EventNote> announced) {
  const Json& tree = world.pod;
  pod.tells = only_tells(world, plan) && pod.pulls.empty() && !has_storage_limit(tree);
  Json object = status_update(tree, *std::move(plan.status));
  // What it was to wait for has come; anything else to wait for is found once it is stored.
  if (pod.hold_status && pod.timer != 0 && pod.timer_due == *pod.hold_status) {
    loop_.cancel(pod.timer);
    pod.timer = 0;
  }
  pod.hold_status.reset();
  std::string seen(text_at(tree, {"metadata", "resourceVersion"}));
  pod.busy = true;
  client_.submit(
      {ClientWrite::Verb::UpdateStatus, kPod, pod.ns, pod.name, std::move(object)},
      [this, uid = pod.uid, announced = std::move(announced), seen = std::move(seen),
       alive = alive_](const Result<ObjectPtr>& written) {
        if (!*alive) return;
        const auto found = pods_.find(uid);
        if (found == pods_.end()) return;
        found->second.busy = false;
        const bool told = std::exchange(found->second.tells, false);
        if (written && *written != nullptr) {
          for (const EventNote& event : announced)
            events_.record(kPod, **written, event);
          if (told && !found->second.again && found->second.heard == (*written)->revision()) return;
        }
        if (!written && written.error().reason != Reason::Conflict &&
            written.error().reason != Reason::NotFound) {
          log_warning("the status of pod {}/{} was not written: {}", found->second.ns,
                      found->second.name, written.error().message);
          wait_until(found->second, loop_.now() + kFirstRetry);
          return;
        }
        // Somebody else's write is under way and not to be seen yet: it comes as an
        // event, or not at all.
        if (!written && written.error().reason == Reason::Conflict &&
            is_at(client_.get(kPod, found->second.ns, found->second.name), seen))
          return wait_until(found->second, loop_.now() + kConflictPause);
        // The store has the write now; whatever happened meanwhile is looked at with it.
        found->second.again = false;
        sync(uid);
      });
}

void Agent::delete_object(Pod& pod) {
  pod.busy = true;
  Json options = JsonObject{{"apiVersion", "v1"},
                            {"kind", "DeleteOptions"},
                            {"gracePeriodSeconds", 0},
                            {"preconditions", JsonObject{{"uid", pod.uid}}}};
  client_.submit({ClientWrite::Verb::Delete, kPod, pod.ns, pod.name, std::move(options)},
                 [this, uid = pod.uid, alive = alive_](const Result<ObjectPtr>& deleted) {
                   if (!*alive) return;
                   const auto found = pods_.find(uid);
                   if (found == pods_.end()) return;
                   found->second.busy = false;
                   if (!deleted && deleted.error().reason != Reason::NotFound &&
                       deleted.error().reason != Reason::Conflict) {
                     log_warning("pod {}/{} could not be deleted: {}", found->second.ns,
                                 found->second.name, deleted.error().message);
                   }
                   if (found->second.gone || std::exchange(found->second.again, false)) sync(uid);
                 });
}

// Whatever is left of it on this machine goes: processes first, then folders. Its logs stay
// (log_archive.h).
void Agent::end_gone_pod(Pod& pod) {
  pod.gone = true;
  if (pod.starting) return;  // looked at again when its shim is up
  const PodRecord* record = runtime_.find(pod.uid);
  if (record != nullptr && record->alive) return runtime_.stop(pod.uid);
  runtime_.remove(pod.uid);
  network_.withdraw(pod.uid);
  tokens_.forget(pod.uid);
  loop_.cancel(pod.timer);
  unbound_.erase(pod.uid);
  const Pod ended = std::move(pods_.extract(pod.uid).mapped());
  if (shut_down_since_) look_at_shutdown();
  // What was ended because it was not bound may be by now.
  const ObjectPtr object = client_.get(kPod, ended.ns, ended.name);
  if (object != nullptr && object->uid() == ended.uid)
    on_pod({ObjectEvent::Type::Added, kPod, object, nullptr});
}

void Agent::wait_until(Pod& pod, Time at) {
  if (pod.timer != 0 && pod.timer_due <= at && pod.timer_due > loop_.now()) return;
  loop_.cancel(pod.timer);
  pod.timer_due = at;
  pod.timer = loop_.after(std::max<Duration>(Duration{}, at - loop_.now()), [this, uid = pod.uid] {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.timer = 0;
    sync(uid);
  });
}

// Kept for as long as something of the pod may run; what has ended keeps only the text in its
// status.
std::string Agent::pod_address(const Pod& pod, const Json& tree, const PodRecord* record) {
  if (bool_at(tree, {"spec", "hostNetwork"})) return options_.address;
  std::string_view known = text_at(tree, {"status", "podIP"});
  const std::string_view phase = text_at(tree, {"status", "phase"});
  if (record == nullptr && (phase == "Succeeded" || phase == "Failed")) return std::string(known);
  if (known.empty() && record != nullptr) known = record->address;
  return network_.address_for(pod.uid, known);
}

}  // namespace yard
