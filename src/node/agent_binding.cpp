// The agent ahead of a binding: while that is on its way to the disk the pod gets its address, its
// files and its shim. Its containers start with the first look after the binding is stored, so
// nothing of the user's runs before; a binding that came to nothing leaves nothing here. What a
// killed server has readied is found by the next one, which ends what is not bound to this node.

#include "api/core/mirror_pod.h"
#include "node/agent.h"

namespace yard {
namespace {

// More of them would wait for the disk longer than they take to start.
constexpr size_t kMostUnbound = 16;

}  // namespace

void Agent::binding_begins(const Object& object, const std::string& node) {
  const bool takes_pods = subscription_ != 0 && options_.simulated == 0 && !shut_down_since_;
  if (!takes_pods || node != options_.name || is_mirror_pod(object)) return;
  if (unbound_.size() >= kMostUnbound || pods_.contains(object.uid())) return;
  const Pod& pod = pod_of(object.uid(), object.ns(), object.name());
  unbound_.insert(pod.uid);
  sync_later(pod.uid);
}

// Of what would be done for it if it were bound, only its shim is started. What is in the way of
// that is found again, and told, when it is bound. Devices are for those who are.
void Agent::make_ready(Pod& pod, const ObjectPtr& object) {
  if (std::exchange(pod.was_readied, true)) return;
  const PodWorld world = observe(pod, client_.tree(object));
  if (gpus_asked(world.pod) == 0 && plan_pod(world).start_pod) start_pod(pod, world.pod);
}

void Agent::binding_failed(const std::string& uid) {
  if (unbound_.erase(uid) == 0) return;
  pods_.at(uid).gone = true;
  sync_later(uid);
}

void Agent::drop_unbound_pods() {
  while (!unbound_.empty())
    binding_failed(std::string(*unbound_.begin()));
}

}  // namespace yard
