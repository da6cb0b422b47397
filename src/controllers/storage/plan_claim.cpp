#include <algorithm>

#include <fmt/format.h>

#include "api/meta/quantity.h"
#include "api/selectors.h"
#include "api/tree.h"
#include "base/strings.h"
#include "controllers/storage/plan_storage.h"

namespace yard {
namespace {

constexpr const char* kProtection = "kubernetes.io/pvc-protection";
constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kOldClassAnnotation = "volume.beta.kubernetes.io/storage-class";

using Type = EventNote::Type;

std::string_view class_of(const Json& object) {
  const std::string_view old = text_at(object, {"metadata", "annotations", kOldClassAnnotation});
  return old.empty() ? text_at(object, {"spec", "storageClassName"}) : old;
}

Quantity quantity_at(const Json& object, std::initializer_list<std::string_view> path) {
  const auto parsed = Quantity::parse(text_at(object, path, "0"));
  return parsed ? *parsed : Quantity();
}

bool has_modes(const Json& volume, const Json& claim) {
  const JsonArray& offered = list_at(volume, {"spec", "accessModes"});
  return std::ranges::all_of(list_at(claim, {"spec", "accessModes"}), [&](const Json& mode) {
    return std::ranges::any_of(offered, [&](const Json& each) { return equal(each, mode); });
  });
}

// Why the volume cannot be the claim's, in the binder's words; "" when it can.
std::string mismatch(const Json& claim, const Json& volume) {
  if (quantity_at(volume, {"spec", "capacity", "storage"}) <
      quantity_at(claim, {"spec", "resources", "requests", "storage"}))
    return "requested PV is too small";
  if (class_of(volume) != class_of(claim)) return "storageClassName does not match";
  if (text_at(volume, {"spec", "volumeMode"}, "Filesystem") !=
      text_at(claim, {"spec", "volumeMode"}, "Filesystem"))
    return "incompatible volumeMode";
  if (!has_modes(volume, claim)) return "incompatible accessMode";
  return "";
}

enum class Holder { Nobody, ThisClaim, Other };
Holder holder_of(const Json& volume, const Json& claim) {
  const Json* ref = find_path(volume, {"spec", "claimRef"});
  if (ref == nullptr || !ref->is_object()) return Holder::Nobody;
  if (text_at(*ref, {"name"}) != name_of(claim) ||
      text_at(*ref, {"namespace"}) != text_at(claim, {"metadata", "namespace"}))
    return Holder::Other;
  const std::string_view uid = text_at(*ref, {"uid"});
  return uid.empty() || uid == text_at(claim, {"metadata", "uid"}) ? Holder::ThisClaim
                                                                   : Holder::Other;
}

Json claim_ref(const Json& claim) {
  return JsonObject{{"kind", "PersistentVolumeClaim"},
                    {"apiVersion", "v1"},
                    {"namespace", text_at(claim, {"metadata", "namespace"})},
                    {"name", name_of(claim)},
                    {"uid", text_at(claim, {"metadata", "uid"})}};
}

class ClaimPlanner {
 public:
  explicit ClaimPlanner(const ClaimWorld& world) : world_(world), claim_(world.claim) {}

  StoragePlan run() {
    if (is_being_deleted(claim_)) {
      release();
    } else if (const std::string_view name = text_at(claim_, {"spec", "volumeName"});
               name.empty()) {
      look_for_volume();
    } else {
      follow_volume(name);
    }
    return std::move(out_);
  }

 private:
  void release() {
    if (world_.in_use) return;
    Json next = claim_;
    JsonArray left;
    for (const Json& finalizer : list_at(claim_, {"metadata", "finalizers"}))
      if (text_of(finalizer) != kProtection) left.push_back(finalizer);
    if (left.size() == list_at(claim_, {"metadata", "finalizers"}).size()) return;
    section(next, "metadata")["finalizers"] = std::move(left);
    update_claim(std::move(next));
  }

  void look_for_volume() {
    set_phase("Pending");
    const auto reserved = std::ranges::find_if(world_.volumes, [&](const Json& volume) {
      return holder_of(volume, claim_) == Holder::ThisClaim && !is_being_deleted(volume);
    });
    if (reserved != world_.volumes.end()) return bind(*reserved);
    const bool waits = waits_for_consumer(world_.storage_class);
    if (waits && text_at(claim_, {"metadata", "annotations", kSelectedNode}).empty()) {
      return tell(Type::Normal, "WaitForFirstConsumer",
                  "waiting for first consumer to be created before binding");
    }
    if (const auto found = find_volume(claim_, world_.volumes)) return bind(world_.volumes[*found]);
    provision();
  }

  void provision() {
    const std::string_view name = class_of(claim_);
    if (name.empty()) {
      return tell(Type::Normal, "FailedBinding",
                  "no persistent volumes available for this claim and no storage class is set");
    }
    if (world_.storage_class.is_null()) {
      return tell(Type::Warning, "ProvisioningFailed",
                  fmt::format("storageclass.storage.k8s.io {} not found", quoted(name)));
    }
    const std::string_view provisioner = text_at(world_.storage_class, {"provisioner"});
    if (provisioner == "kubernetes.io/no-provisioner") {
      return tell(Type::Normal, "FailedBinding", "no persistent volumes available for this claim");
    }
    if (provisioner != kLocalProvisioner) {
      return tell(Type::Normal, "ExternalProvisioning",
                  fmt::format("Waiting for a volume to be created either by the external "
                              "provisioner '{}' or manually by the system administrator. If "
                              "volume creation is delayed, please verify that the provisioner is "
                              "running and correctly registered.",
                              provisioner));
    }
    if (!same(find_path(claim_, {"spec", "selector"}), nullptr))
      return fail_provisioning("claim Selector is not supported");
    if (text_at(claim_, {"spec", "volumeMode"}) == "Block")
      return fail_provisioning("volumeMode Block is not supported");
    if (world_.folder.is == FolderState::Is::Failed)
      return fail_provisioning(world_.folder.problem);
    if (world_.folder.is != FolderState::Is::Made) {
      out_.make_folder = true;
      return;
    }
    create_volume();
  }

  void fail_provisioning(const std::string& why) {
    tell(Type::Warning, "ProvisioningFailed",
         fmt::format("failed to provision volume with StorageClass {}: {}",
                     quoted(class_of(claim_)), why));
    out_.plan.requeue_after = std::chrono::seconds(15);
  }

  void create_volume() {
    const std::string name = provisioned_name(claim_);
    Json volume = JsonObject{
        {"apiVersion", "v1"},
        {"kind", "PersistentVolume"},
        {"metadata", JsonObject{{"name", name},
                                {"annotations", JsonObject{{kProvisionedBy, kLocalProvisioner}}}}},
        {"spec",
         JsonObject{
             {"capacity", JsonObject{{"storage", *find_path(claim_, {"spec", "resources",
                                                                     "requests", "storage"})}}},
             {"accessModes", list_at(claim_, {"spec", "accessModes"})},
             {"persistentVolumeReclaimPolicy",
              text_at(world_.storage_class, {"reclaimPolicy"}, "Delete")},
             {"storageClassName", class_of(claim_)},
             {"volumeMode", "Filesystem"},
             {"hostPath", JsonObject{{"path", world_.folders + "/" + name}, {"type", "Directory"}}},
             {"claimRef", claim_ref(claim_)}}}};
    out_.plan.writes.push_back(
        {ClientWrite::Verb::Create, kVolumeResource, "", name, std::move(volume)});
    tell(Type::Normal, "ProvisioningSucceeded", "Successfully provisioned volume " + name);
  }

  // First the volume says whose it is, then the claim which it has, then the claim's status.
  void bind(const Json& volume) {
    const Json* ref = find_path(volume, {"spec", "claimRef"});
    if (ref == nullptr || text_at(*ref, {"uid"}).empty()) {
      Json next = volume;
      section(next, "spec")["claimRef"] = claim_ref(claim_);
      if (ref == nullptr)
        object_at(section(next, "metadata"), "annotations")[kBoundByController] = "yes";
      out_.plan.last = ClientWrite{ClientWrite::Verb::Update, kVolumeResource, "",
                                   std::string(name_of(volume)), std::move(next)};
      out_.plan.requeue_after = Duration::zero();
      return;
    }
    Json next = claim_;
    section(next, "spec")["volumeName"] = name_of(volume);
    JsonObject& annotations = object_at(section(next, "metadata"), "annotations");
    annotations[kBindCompleted] = "yes";
    annotations[kBoundByController] = "yes";
    update_claim(std::move(next));
    out_.plan.requeue_after = Duration::zero();
  }

  void follow_volume(std::string_view name) {
    const auto found = std::ranges::find_if(
        world_.volumes, [&](const Json& volume) { return name_of(volume) == name; });
    const bool was_bound = !text_at(claim_, {"metadata", "annotations", kBindCompleted}).empty();
    if (found == world_.volumes.end()) {
      if (was_bound)
        return lose("Bound claim has lost its PersistentVolume. Data on the volume is lost!");
      set_phase("Pending");
      return tell(Type::Warning, "FailedBinding", fmt::format("volume {} not found", quoted(name)));
    }
    switch (holder_of(*found, claim_)) {
      case Holder::Other:
        if (was_bound)
          return lose(
              "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
        set_phase("Pending");
        return tell(Type::Warning, "FailedBinding",
                    fmt::format("volume {} already bound to a different claim.", quoted(name)));
      case Holder::Nobody:
        if (const std::string why = mismatch(claim_, *found); !why.empty()) {
          set_phase("Pending");
          return tell(Type::Warning, "VolumeMismatch",
                      fmt::format("Cannot bind to requested volume {}: {}", quoted(name), why));
        }
        return bind(*found);
      case Holder::ThisClaim: break;
    }
    if (text_at(*found, {"spec", "claimRef", "uid"}).empty()) return bind(*found);
    if (!was_bound) {
      Json next = claim_;
      object_at(section(next, "metadata"), "annotations")[kBindCompleted] = "yes";
      update_claim(std::move(next));
      out_.plan.requeue_after = Duration::zero();
      return;
    }
    say_bound(*found);
  }

  void say_bound(const Json& volume) {
    Json next = claim_;
    JsonObject& status = section(next, "status");
    status["phase"] = "Bound";
    status["accessModes"] = list_at(volume, {"spec", "accessModes"});
    status["capacity"] = map_at(volume, {"spec", "capacity"});
    if (!same(find(next, "status"), find(claim_, "status"))) write_status(std::move(next));
  }

  void lose(const char* why) {
    if (text_at(claim_, {"status", "phase"}) == "Lost") return;
    set_phase("Lost");
    tell(Type::Warning, "ClaimLost", why);
  }

  void set_phase(const char* phase) {
    if (text_at(claim_, {"status", "phase"}) == phase) return;
    Json next = claim_;
    section(next, "status")["phase"] = phase;
    write_status(std::move(next));
  }

  void write_status(Json next) {
    out_.plan.last = ClientWrite{ClientWrite::Verb::UpdateStatus, kClaimResource,
                                 std::string(text_at(claim_, {"metadata", "namespace"})),
                                 std::string(name_of(claim_)), std::move(next)};
  }
  void update_claim(Json next) {
    out_.plan.last = ClientWrite{ClientWrite::Verb::Update, kClaimResource,
                                 std::string(text_at(claim_, {"metadata", "namespace"})),
                                 std::string(name_of(claim_)), std::move(next)};
  }
  void tell(Type type, const char* reason, std::string message) {
    out_.plan.events.push_back({type, reason, std::move(message)});
  }

  const ClaimWorld& world_;
  const Json& claim_;
  StoragePlan out_;
};

}  // namespace

std::string provisioned_name(const Json& claim) {
  return "pvc-" + std::string(text_at(claim, {"metadata", "uid"}));
}

bool is_provisioned_here(const Json& volume) {
  return text_at(volume, {"metadata", "annotations", kProvisionedBy}) == kLocalProvisioner;
}

bool waits_for_consumer(const Json& storage_class) {
  return text_at(storage_class, {"volumeBindingMode"}) == "WaitForFirstConsumer";
}

std::optional<size_t> find_volume(const Json& claim, const std::vector<Json>& volumes) {
  std::optional<LabelSelector> selector;
  if (const Json* wanted = find_path(claim, {"spec", "selector"}); !same(wanted, nullptr)) {
    auto parsed = LabelSelector::from_json(*wanted);
    if (!parsed) return std::nullopt;
    selector = std::move(*parsed);
  }
  std::optional<size_t> best;
  Quantity smallest;
  for (size_t i = 0; i < volumes.size(); ++i) {
    const Json& volume = volumes[i];
    const std::string_view phase = text_at(volume, {"status", "phase"});
    const bool is_free = holder_of(volume, claim) == Holder::Nobody && !is_being_deleted(volume) &&
                         (phase == "Available" || phase == "Pending" || phase.empty());
    if (!is_free || !mismatch(claim, volume).empty()) continue;
    if (selector) {
      const Json* labels = find_path(volume, {"metadata", "labels"});
      if (!selector->matches_labels(labels != nullptr ? *labels : Json())) continue;
    }
    const Quantity size = quantity_at(volume, {"spec", "capacity", "storage"});
    if (best && size >= smallest) continue;
    best = i;
    smallest = size;
  }
  return best;
}

StoragePlan plan_claim(const ClaimWorld& world) {
  return ClaimPlanner(world).run();
}

}  // namespace yard
