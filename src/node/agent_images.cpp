// The agent and images: what is pulled before a container starts, and how failures wait.

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "images/progress_text.h"
#include "node/agent.h"
#include "node/images/local_images.h"
#include "node/images/pull_policy.h"

namespace yard {
namespace {

const Resource kSecret{"v1", "Secret"}, kPodResource{"v1", "Pod"};
// The status says ErrImagePull this long before it says that we wait.
constexpr Duration kErrorShown = std::chrono::seconds(1);
// How often a status tells how far a pull has come.
constexpr Duration kToldEvery = std::chrono::seconds(1);

std::vector<ImagePullSecret> pull_secrets(Client& client, const Json& pod) {
  std::vector<ImagePullSecret> out;
  for (const Json& reference : list_at(pod, {"spec", "imagePullSecrets"})) {
    const ObjectPtr object =
        client.get(kSecret, text_at(pod, {"metadata", "namespace"}), text_at(reference, {"name"}));
    if (object == nullptr) continue;  // kubelet goes on without, too
    const Json tree = object->tree();
    const std::string_view type = text_at(tree, {"type"});
    const std::string_view key =
        type == "kubernetes.io/dockercfg" ? ".dockercfg" : ".dockerconfigjson";
    if (auto content = base64_decode(text_at(tree, {"data", key})); content && !content->empty())
      out.push_back({std::string(type), std::move(*content)});
  }
  return out;
}

}  // namespace

ImageResolution Agent::resolve(const Json& pod, const Json& container) const {
  const std::string_view id = text_at(pod, {"metadata", "annotations", kOfferAnnotation});
  const auto offer =
      id.empty() ? std::nullopt
                 : read_offer(options_.state_folder, id, text_at(pod, {"metadata", "namespace"}));
  UnpackedImages unpacked;
  if (images_ != nullptr)
    unpacked = [this](std::string_view image) { return images_->find(image); };
  return resolve_image({text_at(container, {"image"}), text_at(container, {"imagePullPolicy"}),
                        offer ? &*offer : nullptr},
                       options_.images, unpacked);
}

// Answers whether the container can go on to start; otherwise a pull is under way, or its failure
// waits.
bool Agent::have_image(Pod& pod, const Json& tree, const Json& container,
                       const PodPlan::Start& start, const ImageResolution& resolution) {
  // With prefer: image the map stands in for nothing that a registry has.
  const bool is_mapped =
      resolution.rung == ImageRung::Map && options_.images.prefer != ImagePrefer::Image;
  if (images_ == nullptr || is_mapped || resolution.reason == "InvalidImageName") return true;
  Pull& pull = pod.pulls[start.container];
  if (pull.is_under_way) return false;
  const std::string image(text_at(container, {"image"}));
  PullFacts facts;
  facts.policy = text_at(container, {"imagePullPolicy"});
  const ImageEntry* present = images_->find(image);
  facts.is_present = present != nullptr;
  if (facts.is_present) {
    facts.origin = present->unpacked->origin;
    facts.id = present->unpacked->id;
  }
  const std::string local_id =
      !facts.is_present || facts.origin == ImageOrigin::LocalStore ? images_->local_id(image) : "";
  facts.local_id = local_id;
  facts.asks_registry =
      images_->asks_registry(image, !list_at(tree, {"spec", "imagePullSecrets"}).empty());
  facts.is_done = pull.done_for == start.run;
  const PullNeed need = pull_need(facts);
  if (need == PullNeed{}) {
    if (facts.is_present) images_->touch(image);
    return true;
  }
  if (pull.wait_until > loop_.now()) {
    show_problem(pod, start.container,
                 {"ImagePullBackOff", pull_back_off_message(image, pull.problem), pull.wait_until});
    return false;
  }
  begin_pull(pod, tree, start, image, need);
  return false;
}

void Agent::begin_pull(Pod& pod, const Json& tree, const PodPlan::Start& start,
                       const std::string& image, const PullNeed& from) {
  Pull& pull = pod.pulls[start.container];
  pull.is_under_way = true;
  pull.told = loop_.now();
  pod.problems.erase(start.container);
  if (from.from_registry)
    record_for(pod.uid, {EventNote::Type::Normal, "Pulling",
                         fmt::format("Pulling image {}", quoted(image)), start.container});
  std::vector<ImagePullSecret> secrets;
  if (from.from_registry) secrets = pull_secrets(client_, tree);
  PullListener listener;
  listener.progress = [this, uid = pod.uid, container = start.container, alive = alive_](
                          const TakeProgress& progress, Duration elapsed) {
    if (*alive) tell_pull(uid, container, progress, elapsed);
  };
  listener.done = [this, uid = pod.uid, start, image, from,
                   alive = alive_](const Result<PulledImage>& pulled) {
    if (*alive) finish_pull(uid, start, image, from, pulled);
  };
  images_->pull({image, std::move(secrets), from}, std::move(listener));
}

// In the container's status, once a second: whoever waits sees why.
std::string Agent::pull_shown(Pod& pod, Pull& pull) {
  if (!pull.is_under_way || pull.progress.layers == 0) return pull.shown;
  if (loop_.now() - pull.told < kToldEvery) {
    wait_until(pod, pull.told + kToldEvery);
    return pull.shown;
  }
  pull.told = loop_.now();
  pull.shown = fmt::format("pulling its image: {}",
                           pull_progress_text(pull.progress, loop_.now() - pull.began));
  return pull.shown;
}

void Agent::tell_pull(const std::string& uid, const std::string& container,
                      const TakeProgress& progress, Duration elapsed) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || progress.layers == 0) return;
  Pull& pull = found->second.pulls[container];
  if (!pull.is_under_way) return;
  pull.progress = progress;
  pull.began = loop_.now() - elapsed;
  wait_until(found->second, std::max(loop_.now(), pull.told + kToldEvery));
}

void Agent::finish_pull(const std::string& uid, const PodPlan::Start& start,
                        const std::string& image, const PullNeed& from,
                        const Result<PulledImage>& pulled) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  Pull& pull = found->second.pulls[start.container];
  pull.is_under_way = false;
  pull.progress = {};
  pull.shown.clear();
  // What the machine's other tools have and do not show is as good as absent: the next look takes
  // the next rung.
  if (!pulled && !from.from_registry && images_->local_id(image).empty()) return sync_later(uid);
  if (pulled) {
    pull = {};
    pull.done_for = start.run;
    pull.words = pulled->was_local
                     ? already_present(image)
                     : pull_success(image, {pulled->took, pulled->with_waiting}, pulled->bytes);
    return sync_later(uid);
  }
  ++pull.failures;
  pull.problem = pulled.error().message;
  pull.wait_until = loop_.now() + pull_back_off(pull.failures);
  show_problem(found->second, start.container,
               {"ErrImagePull", pull.problem, loop_.now() + kErrorShown});
}

void Agent::show_problem(Pod& pod, const std::string& container, StartProblem problem) {
  const Time retry_at = problem.retry_at;
  pod.problems[container] = std::move(problem);
  wait_until(pod, retry_at);
  sync_later(pod.uid);
}

// The node tells which images it has; a change is told within the interval of its lease.
void Agent::tell_images() {
  if (images_ == nullptr || images_->version() == options_.images_version) return;
  options_.images_version = images_->version();
  options_.image_list = images_->list();
  write_nodes();
}

}  // namespace yard
