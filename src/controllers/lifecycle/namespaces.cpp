#include "controllers/lifecycle/namespaces.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "controllers/lifecycle/plan_ownership.h"

namespace yard {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMostFailures = 20;  // told of one pass
constexpr size_t kMostDeletesPerPass = 500;
constexpr Duration kContentDelay =
    20ms;  // many objects go at once; their namespace is looked at once
constexpr Duration kLongestRetry = 30s;
constexpr std::string_view kFinalizer = "kubernetes";

const Resource kNamespace{"v1", "Namespace"};

struct Condition {
  const char* type;
  bool is_true;
  const char* reason;
  std::string message;
};

using Counts = std::map<std::string, size_t>;

std::string listed(const Counts& counts, const char* between) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(fmt::format("{}{}{} resource instances", name, between, count));
  return join(parts, ", ");
}

// Types, reasons and texts are upstream's: clients wait for them and people search for them.
std::vector<Condition> conditions(const NamespaceWorld& world) {
  Counts remaining, finalizers;
  for (const NamespaceWorld::Content& content : world.contents) {
    ++remaining[content.resource];
    for (const std::string& finalizer : content.finalizers)
      ++finalizers[finalizer];
  }
  std::vector<Condition> out = {
      {"NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
       "All resources successfully discovered"},
      {"NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
       "All legacy kube types successfully parsed"},
      {"NamespaceDeletionContentFailure", false, "ContentDeleted",
       "All content successfully deleted, may be waiting on finalization"},
      {"NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed"},
      {"NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
       "All content-preserving finalizers finished"}};
  if (!world.failures.empty()) {
    std::vector<std::string> failures = world.failures;
    std::ranges::sort(failures);
    out[2] = {"NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
              fmt::format("Failed to delete all resource types, {} remaining: {}", failures.size(),
                          join(failures, "; "))};
  }
  if (!remaining.empty()) {
    out[3] = {"NamespaceContentRemaining", true, "SomeResourcesRemain",
              "Some resources are remaining: " + listed(remaining, " has ")};
  }
  if (!finalizers.empty()) {
    out[4] = {
        "NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: " + listed(finalizers, " in ")};
  }
  return out;
}

// Writes one condition in its place; lastTransitionTime moves only with the status. Answers whether
// it changed.
bool set_condition(JsonArray& list, const Condition& condition, Time now) {
  const char* status = condition.is_true ? "True" : "False";
  auto found = std::ranges::find_if(
      list, [&](const Json& item) { return text_at(item, {"type"}) == condition.type; });
  if (found != list.end() && text_at(*found, {"status"}) == status &&
      text_at(*found, {"reason"}) == condition.reason &&
      text_at(*found, {"message"}) == condition.message) {
    return false;
  }
  const bool turned = found == list.end() || text_at(*found, {"status"}) != status;
  const Json since = turned ? Json(rfc3339(now)) : found->at("lastTransitionTime");
  Json next = JsonObject{{"type", condition.type},
                         {"status", status},
                         {"lastTransitionTime", since},
                         {"reason", condition.reason},
                         {"message", condition.message}};
  if (found == list.end()) {
    list.push_back(std::move(next));
  } else {
    *found = std::move(next);
  }
  return true;
}

// The status while it waits, or nothing when it says so already.
std::optional<ClientWrite> status_write(const NamespaceWorld& world) {
  Json tree = world.tree;
  JsonObject& status = section(tree, "status");
  bool changed = text_at(tree, {"status", "phase"}) != "Terminating";
  status["phase"] = "Terminating";
  if (!status["conditions"].is_array()) status["conditions"] = JsonArray();
  for (const Condition& condition : conditions(world))
    changed |= set_condition(status["conditions"].get_array(), condition, world.now);
  if (!changed) return std::nullopt;
  return ClientWrite{ClientWrite::Verb::UpdateStatus, kNamespace, "", world.key.name,
                     std::move(tree)};
}

ClientWrite delete_content(const NamespaceWorld::Content& content) {
  return {ClientWrite::Verb::Delete, content.key.resource, content.key.ns, content.key.name,
          JsonObject{{"propagationPolicy", "Background"},
                     {"preconditions", JsonObject{{"uid", content.uid}}}}};
}

// Also of what waits for its dependents or for being orphaned from: with everything else going, the
// wait has no point, and a pod that waited for another kind would never end.
bool needs_delete(const NamespaceWorld::Content& content) {
  return !content.being_deleted ||
         std::ranges::any_of(content.finalizers, [](const std::string& finalizer) {
           return finalizer == kOrphanFinalizer || finalizer == kForegroundFinalizer;
         });
}

bool has_finalizer(const Json& tree) {
  return std::ranges::any_of(list_at(tree, {"spec", "finalizers"}),
                             [](const Json& item) { return text_of(item) == kFinalizer; });
}

ClientWrite finalize(const NamespaceWorld& world) {
  Json tree = world.tree;
  JsonArray left;
  for (const Json& item : list_at(world.tree, {"spec", "finalizers"})) {
    if (text_of(item) != kFinalizer) left.push_back(item);
  }
  section(tree, "spec")["finalizers"] = std::move(left);
  return {ClientWrite::Verb::Finalize, kNamespace, "", world.key.name, std::move(tree)};
}

NamespaceWorld::Content content_of(const Client::Served& served, const Resource& resource,
                                   const Object& object) {
  NamespaceWorld::Content out{
      .key = {resource, std::string(object.ns()), std::string(object.name())},
      .uid = std::string(object.uid()),
      .resource = served.plural + "." + served.group,
      .is_pod = resource == Resource{"v1", "Pod"},
      .being_deleted = object.is_being_deleted(),
      .finalizers = {}};
  if (!object.has_finalizers()) return out;
  if (const auto metadata = parse_json(object.metadata())) {
    for (const Json& finalizer : list_at(metadata->value, {"finalizers"}))
      out.finalizers.emplace_back(text_of(finalizer));
  }
  return out;
}

}  // namespace

Plan plan_namespace(const NamespaceWorld& world) {
  Plan plan;
  const bool has_pods = std::ranges::any_of(world.contents, &NamespaceWorld::Content::is_pod);
  for (const NamespaceWorld::Content& content : world.contents) {
    if (!needs_delete(content) || (has_pods && !content.is_pod)) continue;
    if (plan.writes.size() == kMostDeletesPerPass) break;
    plan.writes.push_back(delete_content(content));
  }
  if (!plan.writes.empty()) {
    // A pass with a refused delete never comes to its end: what went wrong is told beside the next.
    if (!world.failures.empty()) {
      if (auto status = status_write(world)) plan.writes.push_back(std::move(*status));
    }
    plan.requeue_after = Duration::zero();
    return plan;
  }
  plan.last = status_write(world);
  if (plan.last) {
    // A create that was under way when the namespace began to end stands before this write in the
    // store's order, so the pass after it sees that object. Only then may an empty namespace go.
    plan.requeue_after = Duration::zero();
  } else if (world.contents.empty() && has_finalizer(world.tree)) {
    plan.last = finalize(world);
  }
  return plan;
}

NamespaceTermination::NamespaceTermination(Loop& loop, Client& client)
    : loop_(loop),
      client_(client),
      controller_(loop, client,
                  {.name = "namespaces",
                   .plan = [this](const ObjectKey& key) { return plan(key); },
                   .limits = {.longest_retry = kLongestRetry},
                   .heard = [this](const ObjectKey& key, const ClientWrite& asked,
                                   const Result<ObjectPtr>& answer) {
                     note_failure(key, asked, answer);
                   }}) {
  namespaces_ = client_.follow(kNamespace, [this](const ObjectEvent& event) {
    const bool gone = event.type == ObjectEvent::Type::Deleted;
    set_terminating(std::string(event.object->name()), !gone && event.object->is_being_deleted());
  });
  for (const ObjectPtr& ns : client_.list(kNamespace)) {
    if (ns->is_being_deleted()) set_terminating(std::string(ns->name()), true);
  }
}

NamespaceTermination::~NamespaceTermination() {
  client_.unfollow(namespaces_);
  if (contents_ != 0) client_.unfollow(contents_);
}

// Events of all kinds are heard only while some namespace ends.
void NamespaceTermination::set_terminating(const std::string& name, bool terminating) {
  if (terminating) {
    terminating_.insert(name);
    controller_.add({kNamespace, "", name});
  } else {
    terminating_.erase(name);
    failures_.erase(name);
  }
  if (!terminating_.empty() && contents_ == 0) {
    contents_ = client_.follow({}, [this](const ObjectEvent& event) { hear(event); });
  } else if (terminating_.empty() && contents_ != 0) {
    client_.unfollow(contents_);
    contents_ = 0;
  }
}

void NamespaceTermination::hear(const ObjectEvent& event) {
  const auto found = terminating_.find(event.object->ns());
  if (found != terminating_.end()) controller_.add_after({kNamespace, "", *found}, kContentDelay);
}

Plan NamespaceTermination::plan(const ObjectKey& key) {
  const ObjectPtr ns = client_.get(kNamespace, "", key.name);
  if (ns == nullptr || !ns->is_being_deleted()) return {};
  NamespaceWorld world{.key = key, .tree = ns->tree(), .contents = {}, .now = loop_.now(), .failures = {}};
  for (const Resource& resource : client_.resources(true)) {
    const std::vector<ObjectPtr> objects = client_.list(resource, key.name);
    const auto served = client_.served(resource);
    if (objects.empty() || !served) continue;
    for (const ObjectPtr& object : objects)
      world.contents.push_back(content_of(*served, resource, *object));
  }
  if (const auto failed = failures_.find(key.name); failed != failures_.end()) {
    world.failures = std::move(failed->second);
    failures_.erase(failed);
  }
  return plan_namespace(world);
}

void NamespaceTermination::note_failure(const ObjectKey& key, const ClientWrite& asked,
                                        const Result<ObjectPtr>& answer) {
  if (answer || asked.verb != ClientWrite::Verb::Delete) return;
  const Reason why = answer.error().reason;
  if (why == Reason::NotFound || why == Reason::Conflict) return;  // the world moved on
  std::vector<std::string>& failures = failures_[key.name];
  if (failures.size() < kMostFailures) failures.push_back(answer.error().message);
}

}  // namespace yard
