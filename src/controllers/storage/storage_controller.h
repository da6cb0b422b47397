#pragma once
// Binds claims to volumes, makes volumes for claims, and ends what nobody has any more: hears
// claims, volumes, classes and pods; plan_storage.h decides. Loop thread.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controllers/storage/plan_storage.h"
#include "controllers/storage/volume_folders.h"

namespace yard {

class StorageController {
 public:
  StorageController(Loop& loop, Client& client, std::unique_ptr<VolumeFolders> folders);
  ~StorageController();
  bool is_idle() const { return claims_.is_idle() && volumes_.is_idle() && folder_tasks_ == 0; }

 private:
  void hear_claim(const ObjectEvent& event);
  void hear_volume(const ObjectEvent& event);
  void hear_pod(const ObjectEvent& event);
  void add_pending_claims();
  void observe_volumes(ClaimWorld& world) const;
  Plan plan_claim_key(const ObjectKey& key);
  Plan plan_volume_key(const ObjectKey& key);
  bool is_in_use(const Object& claim) const;
  void make_folder(const ObjectKey& key, const std::string& name);
  void remove_folder(const ObjectKey& key, const std::string& name);
  void tell(const ObjectKey& key, const EventNote& note);

  Client& client_;
  std::unique_ptr<VolumeFolders> folders_;
  EventRecorder binder_, provisioner_;
  std::map<std::string, FolderState> folder_states_;  // by volume name, until the object tells
  std::set<std::string> folders_in_work_;
  size_t folder_tasks_ = 0;
  std::set<ObjectKey> leaving_;                 // claims that wait for their pods to end
  std::map<ObjectKey, std::string> last_told_;  // what waits is told of once, not at every look
  Controller claims_, volumes_;
  std::vector<Client::Subscription> subscriptions_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace yard
