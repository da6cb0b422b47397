#include "controllers/storage/storage_controller.h"

#include "api/content.h"
#include "api/tree.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

const Resource kPod{"v1", "Pod"};
// Places among a pod's selectable fields (api/core/pod.cpp).
constexpr size_t kNodeName = 0, kPhase = 6;

ObjectKey key_of(const Resource& resource, const Object& object) {
  return {resource, std::string(object.ns()), std::string(object.name())};
}

bool is_on_a_node(const Object& pod) {
  const auto fields = pod.fields();
  if (fields.size() <= kPhase || fields[kNodeName].empty()) return false;
  return fields[kPhase] != "Succeeded" && fields[kPhase] != "Failed";
}

bool uses_claim(const Object& pod, std::string_view claim) {
  if (!content_has(pod, R"("claimName")")) return false;
  const Json tree = pod.tree();
  for (const Json& volume : list_at(tree, {"spec", "volumes"}))
    if (text_at(volume, {"persistentVolumeClaim", "claimName"}) == claim) return true;
  return false;
}

}  // namespace

StorageController::StorageController(Loop& loop, Client& client,
                                     std::unique_ptr<VolumeFolders> folders)
    : client_(client),
      folders_(std::move(folders)),
      binder_(loop, client, "persistentvolume-controller"),
      provisioner_(loop, client, std::string(kLocalProvisioner)),
      claims_(loop, client,
              {.name = "claims",
               .plan = [this](const ObjectKey& key) { return plan_claim_key(key); },
               .limits = {.longest_retry = 60s},
               .tell = [this](const ObjectKey& key, const EventNote& note) { tell(key, note); }}),
      volumes_(loop, client,
               {.name = "volumes",
                .plan = [this](const ObjectKey& key) { return plan_volume_key(key); },
                .limits = {.longest_retry = 60s},
                .tell = [this](const ObjectKey& key, const EventNote& note) { tell(key, note); }}) {
  subscriptions_.push_back(
      client_.follow(kClaimResource, [this](const ObjectEvent& event) { hear_claim(event); }));
  subscriptions_.push_back(
      client_.follow(kVolumeResource, [this](const ObjectEvent& event) { hear_volume(event); }));
  subscriptions_.push_back(
      client_.follow(kStorageClassResource, [this](const ObjectEvent&) { add_pending_claims(); }));
  subscriptions_.push_back(
      client_.follow(kPod, [this](const ObjectEvent& event) { hear_pod(event); }));
  for (const ObjectPtr& claim : client_.list(kClaimResource))
    hear_claim({ObjectEvent::Type::Added, kClaimResource, claim, nullptr});
  for (const ObjectPtr& volume : client_.list(kVolumeResource))
    volumes_.add(key_of(kVolumeResource, *volume));
}

StorageController::~StorageController() {
  for (const Client::Subscription subscription : subscriptions_)
    client_.unfollow(subscription);
}

void StorageController::hear_claim(const ObjectEvent& event) {
  const Object& claim = *event.object;
  const ObjectKey key = key_of(kClaimResource, claim);
  const bool gone = event.type == ObjectEvent::Type::Deleted;
  if (gone) {
    leaving_.erase(key);
    last_told_.erase(key);
  } else {
    if (claim.is_being_deleted()) leaving_.insert(key);
    claims_.add(key);
  }
  // The volume it has, or was promised, follows its claim.
  const Json tree = claim.tree();
  if (const std::string_view name = text_at(tree, {"spec", "volumeName"}); !name.empty())
    volumes_.add({kVolumeResource, "", std::string(name)});
  if (!gone) return;
  const std::string promised = provisioned_name(tree);
  if (client_.get(kVolumeResource, "", promised) != nullptr) {
    volumes_.add({kVolumeResource, "", promised});
  } else if (folder_states_.contains(promised)) {
    // It left between its folder and its volume.
    folder_states_.erase(promised);
    remove_folder({kVolumeResource, "", promised}, promised);
  }
}

void StorageController::hear_volume(const ObjectEvent& event) {
  const Object& volume = *event.object;
  if (event.type == ObjectEvent::Type::Deleted) {
    folder_states_.erase(std::string(volume.name()));
    last_told_.erase(key_of(kVolumeResource, volume));
  } else {
    volumes_.add(key_of(kVolumeResource, volume));
  }
  const Json tree = volume.tree();
  const Json* ref = find_path(tree, {"spec", "claimRef"});
  if (ref == nullptr) return add_pending_claims();
  claims_.add({kClaimResource, std::string(text_at(*ref, {"namespace"})),
               std::string(text_at(*ref, {"name"}))});
}

// A free volume or a new class may be what some claim waits for.
void StorageController::add_pending_claims() {
  for (const ObjectPtr& claim : client_.list(kClaimResource))
    if (!content_has(*claim, R"("phase":"Bound")")) claims_.add(key_of(kClaimResource, *claim));
}

void StorageController::hear_pod(const ObjectEvent& event) {
  for (const ObjectKey& claim : leaving_)
    if (claim.ns == event.object->ns()) claims_.add(claim);
}

bool StorageController::is_in_use(const Object& claim) const {
  for (const ObjectPtr& pod : client_.list(kPod, claim.ns()))
    if (is_on_a_node(*pod) && uses_claim(*pod, claim.name())) return true;
  return false;
}

// The one it names; else those that may become its own, told from the rest without parsing.
void StorageController::observe_volumes(ClaimWorld& world) const {
  if (const std::string_view named = text_at(world.claim, {"spec", "volumeName"}); !named.empty()) {
    if (const ObjectPtr volume = client_.get(kVolumeResource, "", named))
      world.volumes.push_back(volume->tree());
    return;
  }
  for (const ObjectPtr& volume : client_.list(kVolumeResource)) {
    if (!content_has(*volume, R"("claimRef")") || content_has(*volume, name_of(world.claim)))
      world.volumes.push_back(volume->tree());
  }
}

Plan StorageController::plan_claim_key(const ObjectKey& key) {
  const ObjectPtr claim = client_.get(kClaimResource, key.ns, key.name);
  if (claim == nullptr) return {};
  ClaimWorld world;
  world.claim = claim->tree();
  world.folders = folders_->path();
  const std::string name = provisioned_name(world.claim);
  if (claim->is_being_deleted()) {
    world.in_use = is_in_use(*claim);
  } else {
    const std::string_view class_name = text_at(world.claim, {"spec", "storageClassName"});
    if (const ObjectPtr found = client_.get(kStorageClassResource, "", class_name))
      world.storage_class = found->tree();
    observe_volumes(world);
    if (const auto state = folder_states_.find(name); state != folder_states_.end())
      world.folder = state->second;
  }
  StoragePlan out = plan_claim(world);
  if (out.make_folder) make_folder(key, name);
  if (world.folder.is == FolderState::Is::Failed) folder_states_.erase(name);  // tried again
  return std::move(out.plan);
}

Plan StorageController::plan_volume_key(const ObjectKey& key) {
  const ObjectPtr volume = client_.get(kVolumeResource, "", key.name);
  if (volume == nullptr) return {};
  VolumeWorld world;
  world.volume = volume->tree();
  if (const Json* ref = find_path(world.volume, {"spec", "claimRef"})) {
    const ObjectPtr claim =
        client_.get(kClaimResource, text_at(*ref, {"namespace"}), text_at(*ref, {"name"}));
    if (claim != nullptr) world.claim = claim->tree();
  }
  if (const auto state = folder_states_.find(key.name); state != folder_states_.end())
    world.folder = state->second;
  StoragePlan out = plan_volume(world);
  if (out.remove_folder) remove_folder(key, key.name);
  if (world.folder.is == FolderState::Is::Failed) folder_states_.erase(key.name);
  return std::move(out.plan);
}

void StorageController::make_folder(const ObjectKey& key, const std::string& name) {
  if (!folders_in_work_.insert(name).second) return;
  ++folder_tasks_;
  folders_->make(name, [this, key, name, alive = std::weak_ptr(alive_)](Result<void> made) {
    if (alive.expired()) return;
    --folder_tasks_;
    folders_in_work_.erase(name);
    folder_states_[name] = made ? FolderState{FolderState::Is::Made, ""}
                                : FolderState{FolderState::Is::Failed, made.error().message};
    if (client_.get(kClaimResource, key.ns, key.name) != nullptr) return claims_.add(key);
    folder_states_.erase(name);
    remove_folder(key, name);
  });
}

void StorageController::remove_folder(const ObjectKey& key, const std::string& name) {
  if (!folders_in_work_.insert(name).second) return;
  ++folder_tasks_;
  folders_->remove(name, [this, key, name, alive = std::weak_ptr(alive_)](Result<void> removed) {
    if (alive.expired()) return;
    --folder_tasks_;
    folders_in_work_.erase(name);
    if (client_.get(kVolumeResource, "", name) == nullptr) return;
    folder_states_[name] = removed ? FolderState{FolderState::Is::Removed, ""}
                                   : FolderState{FolderState::Is::Failed, removed.error().message};
    volumes_.add({kVolumeResource, "", name});
  });
}

void StorageController::tell(const ObjectKey& key, const EventNote& note) {
  const ObjectPtr about = client_.get(key.resource, key.ns, key.name);
  if (about == nullptr) return;
  const std::string text = note.reason + ": " + note.message;
  std::string& last = last_told_[key];
  if (last == text) return;
  last = text;
  const bool provisions = note.reason.starts_with("Provisioning");
  (provisions ? provisioner_ : binder_).record(key.resource, *about, note);
}

}  // namespace yard
