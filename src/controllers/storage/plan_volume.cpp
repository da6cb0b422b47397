#include <algorithm>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "controllers/storage/plan_storage.h"

namespace yard {
namespace {

constexpr const char* kProtection = "kubernetes.io/pv-protection";

using Type = EventNote::Type;

ClientWrite with_phase(const Json& volume, std::string_view phase, const std::string& message) {
  Json next = volume;
  JsonObject& status = section(next, "status");
  status["phase"] = phase;
  if (message.empty()) {
    status.erase("message");
  } else {
    status["message"] = message;
  }
  return {ClientWrite::Verb::UpdateStatus, kVolumeResource, "", std::string(name_of(volume)),
          std::move(next)};
}

void set_phase(StoragePlan& out, const Json& volume, std::string_view phase,
               const std::string& message = "") {
  if (text_at(volume, {"status", "phase"}) != phase ||
      text_at(volume, {"status", "message"}) != message)
    out.plan.last = with_phase(volume, phase, message);
}

void take_protection_off(StoragePlan& out, const Json& volume) {
  JsonArray left;
  for (const Json& finalizer : list_at(volume, {"metadata", "finalizers"}))
    if (text_of(finalizer) != kProtection) left.push_back(finalizer);
  if (left.size() == list_at(volume, {"metadata", "finalizers"}).size()) return;
  Json next = volume;
  section(next, "metadata")["finalizers"] = std::move(left);
  out.plan.last = ClientWrite{ClientWrite::Verb::Update, kVolumeResource, "",
                              std::string(name_of(volume)), std::move(next)};
}

void fail(StoragePlan& out, const Json& volume, const char* reason, const std::string& why) {
  set_phase(out, volume, "Failed", why);
  if (out.plan.last) out.plan.events.push_back({Type::Warning, reason, why});
}

// Nobody has it any more: what its policy says becomes of the bytes.
void reclaim(StoragePlan& out, const VolumeWorld& world) {
  const Json& volume = world.volume;
  const std::string_view policy =
      text_at(volume, {"spec", "persistentVolumeReclaimPolicy"}, "Retain");
  if (policy == "Recycle")
    return fail(out, volume, "VolumeFailedRecycle", "Volume has no class that can recycle it");
  if (policy == "Retain") {
    if (is_being_deleted(volume)) return take_protection_off(out, volume);
    return set_phase(out, volume, "Released");
  }
  if (!is_provisioned_here(volume)) {
    if (is_being_deleted(volume)) return take_protection_off(out, volume);
    return fail(out, volume, "VolumeFailedDelete",
                fmt::format("error getting deleter volume plugin for volume {}: no volume plugin "
                            "matched",
                            quoted(name_of(volume))));
  }
  switch (world.folder.is) {
    case FolderState::Is::Failed:
      fail(out, volume, "VolumeFailedDelete", world.folder.problem);
      out.plan.requeue_after = std::chrono::seconds(15);
      return;
    case FolderState::Is::Removed: break;
    default: {
      set_phase(out, volume, "Released");
      out.remove_folder = true;
      return;
    }
  }
  if (is_being_deleted(volume)) return take_protection_off(out, volume);
  out.plan.last = ClientWrite{
      ClientWrite::Verb::Delete, kVolumeResource, "", std::string(name_of(volume)),
      JsonObject{{"preconditions", JsonObject{{"uid", text_at(volume, {"metadata", "uid"})}}}}};
}

}  // namespace

StoragePlan plan_volume(const VolumeWorld& world) {
  StoragePlan out;
  const Json& volume = world.volume;
  const std::string_view uid = text_at(volume, {"spec", "claimRef", "uid"});
  if (uid.empty()) {
    // Nobody's, or kept for a claim that is yet to come.
    if (is_being_deleted(volume)) {
      take_protection_off(out, volume);
    } else {
      set_phase(out, volume, "Available");
    }
    return out;
  }
  if (world.claim.is_null() || text_at(world.claim, {"metadata", "uid"}) != uid) {
    reclaim(out, world);
    return out;
  }
  const std::string_view wants = text_at(world.claim, {"spec", "volumeName"});
  if (wants == name_of(volume)) set_phase(out, volume, "Bound");
  return out;
}

}  // namespace yard
