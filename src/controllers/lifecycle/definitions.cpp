#include "controllers/lifecycle/definitions.h"

#include <algorithm>
#include <set>

#include "api/training/training_kind.h"
#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "controllers/lifecycle/bootstrap.h"

namespace yard {
namespace {

const Resource kDefinition{"apiextensions.k8s.io/v1", "CustomResourceDefinition"};
constexpr std::string_view kFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Whoever waits for a built-in definition to go must see that it is gone.
constexpr Duration kComesBackAfter = std::chrono::seconds(2);

struct Condition {
  std::string_view type, status, reason;
  std::string message;
};

std::string_view condition_reason(const Json& definition, std::string_view type) {
  for (const Json& condition : list_at(definition, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return text_at(condition, {"reason"});
  }
  return "";
}

void set_condition(Json& definition, const Condition& wanted, Time now) {
  JsonObject& status = section(definition, "status");
  Json& list = status["conditions"];
  if (!list.is_array()) list = JsonArray();
  JsonObject made{{"type", wanted.type},
                  {"status", wanted.status},
                  {"lastTransitionTime", rfc3339(now)},
                  {"reason", wanted.reason},
                  {"message", wanted.message}};
  for (Json& condition : list.get_array()) {
    if (text_at(condition, {"type"}) != wanted.type) continue;
    if (text_at(condition, {"status"}) == wanted.status) {
      if (const Json* since = find(condition, "lastTransitionTime")) {
        made["lastTransitionTime"] = *since;
      }
    }
    condition = std::move(made);
    return;
  }
  list.get_array().push_back(std::move(made));
}

// Names other definitions of the group hold: resources and kinds are two worlds.
struct TakenNames {
  std::set<std::string, std::less<>> resources, kinds;

  void add(const Json& names) {
    for (const char* member : {"plural", "singular"}) {
      if (const std::string_view text = text_at(names, {member}); !text.empty()) {
        resources.emplace(text);
      }
    }
    for (const Json& name : list_at(names, {"shortNames"})) {
      resources.emplace(text_of(name));
    }
    for (const char* member : {"kind", "listKind"}) {
      if (const std::string_view text = text_at(names, {member}); !text.empty()) {
        kinds.emplace(text);
      }
    }
  }
};

struct Judgement {
  Json accepted = JsonObject();
  Condition condition{"NamesAccepted", "True", "NoConflicts", "no conflicts found"};
};

std::string in_use(std::string_view name) {
  return quoted(name) + " is already in use";
}

// Each name is taken alone: one that clashes leaves what was accepted before in its place.
Judgement judge(const Json& wanted, const Json& before, const TakenNames& taken) {
  Judgement out;
  JsonObject& accepted = out.accepted.get_object();
  const auto refuse = [&](std::string_view reason, std::string message) {
    out.condition = {"NamesAccepted", "False", reason, std::move(message)};
  };
  const auto one = [&](std::string_view member, const auto& held, std::string_view reason) {
    const std::string_view name = text_at(wanted, {member});
    if (!name.empty() && held.contains(name)) {
      refuse(reason, in_use(name));
      accepted[member] = text_at(before, {member});
    } else if (!name.empty()) {
      accepted[member] = name;
    }
  };
  one("plural", taken.resources, "PluralConflict");
  one("singular", taken.resources, "SingularConflict");
  std::vector<std::string> clashes;
  for (const Json& name : list_at(wanted, {"shortNames"})) {
    if (taken.resources.contains(text_of(name))) clashes.push_back(in_use(text_of(name)));
  }
  if (!clashes.empty()) refuse("ShortNamesConflict", join(clashes, ", "));
  const Json* short_names = find(clashes.empty() ? wanted : before, "shortNames");
  if (short_names != nullptr) accepted["shortNames"] = *short_names;
  one("kind", taken.kinds, "KindConflict");
  one("listKind", taken.kinds, "ListKindConflict");
  if (const Json* categories = find(wanted, "categories")) accepted["categories"] = *categories;
  for (const char* member : {"plural", "kind"}) {
    if (!accepted.contains(member)) accepted[member] = "";
  }
  return out;
}

// Any version will do: all show the same objects.
Resource instances_of(const Json& definition) {
  std::string kind(text_at(definition, {"status", "acceptedNames", "kind"}));
  for (const Json& version : list_at(definition, {"spec", "versions"})) {
    if (!bool_at(version, {"served"})) continue;
    return {std::string(text_at(definition, {"spec", "group"})) + "/" +
                std::string(text_at(version, {"name"})),
            std::move(kind)};
  }
  return {};
}

bool waits_for_us(const Json& definition) {
  return std::ranges::any_of(list_at(definition, {"metadata", "finalizers"}),
                             [](const Json& item) { return text_of(item) == kFinalizer; });
}

// Its kind is served whatever becomes of the definition: the objects stay, and it comes back.
bool is_built_in(std::string_view name) {
  const std::vector<std::string> names = training_definition_names();
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Definitions::Definitions(Client& client, Loop& loop) : client_(client), loop_(loop) {
  subscription_ = client_.follow(kDefinition, [this](const ObjectEvent& event) {
    const std::string name(event.object->name());
    if (event.type == ObjectEvent::Type::Deleted) return forget(name);
    sync(name);
  });
  const std::vector<ObjectPtr> all = client_.list(kDefinition);
  for (const ObjectPtr& definition : all) {
    Json tree = definition->tree();
    const Json* accepted = find_path(tree, {"status", "acceptedNames"});
    if (accepted == nullptr || text_at(*accepted, {"kind"}).empty()) continue;
    given_[std::string(definition->name())] = {std::string(text_at(tree, {"spec", "group"})),
                                               *accepted};
  }
  for (const ObjectPtr& definition : all)
    sync(definition->name());
}

Definitions::~Definitions() {
  client_.unfollow(subscription_);
  for (const auto& [name, subscription] : instances_)
    client_.unfollow(subscription);
}

void Definitions::sync(std::string_view name) {
  const ObjectPtr object = client_.get(kDefinition, "", name);
  if (object == nullptr) return;
  if (object->is_being_deleted()) return take_apart(std::string(name), object->tree());
  establish(std::string(name), object->tree());
}

void Definitions::sync_group(std::string_view group, std::string_view except) {
  for (const ObjectPtr& object : client_.list(kDefinition)) {
    if (object->name() == except) continue;
    const Json tree = object->tree();
    if (text_at(tree, {"spec", "group"}) == group) sync(object->name());
  }
}

void Definitions::establish(const std::string& name, Json definition) {
  const std::string group(text_at(definition, {"spec", "group"}));
  TakenNames taken;
  for (const auto& [other, given] : given_) {
    if (other != name && given.group == group) taken.add(given.names);
  }
  const Json* wanted = find_path(definition, {"spec", "names"});
  const Json* before = find_path(definition, {"status", "acceptedNames"});
  static const Json kNone = JsonObject();
  Judgement judgement =
      judge(wanted != nullptr ? *wanted : kNone, before != nullptr ? *before : kNone, taken);
  const auto known = given_.find(name);
  const bool changes_names =
      known != given_.end() && !equal(known->second.names, judgement.accepted);
  given_[name] = {group, judgement.accepted};

  Json next = definition;
  section(next, "status")["acceptedNames"] = std::move(judgement.accepted);
  const bool accepted = judgement.condition.status == "True";
  set_condition(next, judgement.condition, loop_.now());
  if (condition_status(definition, "Established") != "True") {
    set_condition(
        next,
        accepted ? Condition{"Established", "True", "InitialNamesAccepted",
                             "the initial names have been accepted"}
                 : Condition{"Established", "False", "NotAccepted", "not all names are accepted"},
        loop_.now());
  }
  if (!equal(next, definition)) update_status(name, std::move(next));
  if (changes_names) sync_group(group, name);
}

void Definitions::take_apart(const std::string& name, Json definition) {
  if (!waits_for_us(definition)) return;
  const std::string_view reason = condition_reason(definition, "Terminating");
  if (reason == "InstanceDeletionCompleted") return remove_finalizer(name, std::move(definition));
  if (reason == "InstanceDeletionInProgress") return delete_instances(name, definition);
  set_condition(definition,
                {"Terminating", "True", "InstanceDeletionInProgress",
                 "CustomResource deletion is in progress"},
                loop_.now());
  update_status(name, std::move(definition));
}

void Definitions::delete_instances(const std::string& name, const Json& definition) {
  const Resource resource = instances_of(definition);
  const std::vector<ObjectPtr> instances =
      resource.kind.empty() ? std::vector<ObjectPtr>() : client_.list(resource);
  if (instances.empty() || is_built_in(name)) {
    Json next = definition;
    set_condition(next,
                  {"Terminating", "False", "InstanceDeletionCompleted", "removed all instances"},
                  loop_.now());
    return update_status(name, std::move(next));
  }
  follow_instances(name, resource);
  for (const ObjectPtr& instance : instances) {
    if (instance->is_being_deleted()) continue;
    ClientWrite write{ClientWrite::Verb::Delete, resource, std::string(instance->ns()),
                      std::string(instance->name()), Json()};
    client_.submit(std::move(write), [this, name,
                                      alive = std::weak_ptr<bool>(alive_)](Result<ObjectPtr> gone) {
      if (gone || gone.error().reason == Reason::NotFound) return;
      log_warning("definition {}: an instance was not deleted: {}", name, gone.error().message);
      if (alive.expired()) return;
      loop_.after(std::chrono::seconds(1), [this, name, alive] {
        if (!alive.expired()) sync(name);
      });
    });
  }
}

void Definitions::follow_instances(const std::string& name, const Resource& resource) {
  if (instances_.contains(name)) return;
  instances_[name] = client_.follow(resource, [this, name, resource](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Added) sync(name);
    if (event.type == ObjectEvent::Type::Deleted) look_again(name, resource);
  });
}

// Once for all deletions of one moment: listing what is left costs more than an event.
void Definitions::look_again(const std::string& name, const Resource& resource) {
  if (!looking_.insert(name).second) return;
  loop_.post([this, name, resource, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    looking_.erase(name);
    if (client_.list(resource).empty()) sync(name);
  });
}

void Definitions::forget(const std::string& name) {
  if (is_built_in(name)) {
    loop_.after(kComesBackAfter, [this, name, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      client_.submit(built_in_definition(name), [name](const Result<ObjectPtr>& made) {
        if (!made && made.error().reason != Reason::AlreadyExists)
          log_warning("definition {} was not made again: {}", name, made.error().message);
      });
    });
  }
  if (const auto followed = instances_.find(name); followed != instances_.end()) {
    client_.unfollow(followed->second);
    instances_.erase(followed);
  }
  const auto known = given_.find(name);
  if (known == given_.end()) return;
  const std::string group = known->second.group;
  given_.erase(known);
  sync_group(group, name);
}

void Definitions::update_status(const std::string& name, Json definition) {
  ClientWrite write{ClientWrite::Verb::UpdateStatus, kDefinition, "", name, std::move(definition)};
  client_.submit(std::move(write), [name](Result<ObjectPtr> written) {
    // A conflict means a newer version, whose event brings us here again.
    if (written || written.error().reason == Reason::Conflict ||
        written.error().reason == Reason::NotFound) {
      return;
    }
    log_warning("definition {}: its status was not written: {}", name, written.error().message);
  });
}

void Definitions::remove_finalizer(const std::string& name, Json definition) {
  Json* list = find_path(definition, {"metadata", "finalizers"});
  JsonArray& finalizers = list->get_array();
  for (auto at = finalizers.begin(); at != finalizers.end();) {
    at = text_of(*at) == kFinalizer ? finalizers.erase(at) : at + 1;
  }
  ClientWrite write{ClientWrite::Verb::Update, kDefinition, "", name, std::move(definition)};
  client_.submit(std::move(write), [name](Result<ObjectPtr> written) {
    if (written || written.error().reason == Reason::Conflict ||
        written.error().reason == Reason::NotFound) {
      return;
    }
    log_warning("definition {}: its finalizer was not removed: {}", name, written.error().message);
  });
}

}  // namespace yard
