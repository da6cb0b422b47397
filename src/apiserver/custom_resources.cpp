#include "apiserver/custom_resources.h"

#include <algorithm>

#include "api/crd/custom_kinds.h"
#include "api/tree.h"
#include "apiserver/change.h"
#include "base/log.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";
constexpr size_t kObjectsATurn = 100;  // converted before the loop may do something else

// Everything kinds_of_definition reads; conditions come and go without a change of what is served.
uint64_t signature_of(const Json& definition) {
  std::string text;
  if (const Json* spec = find(definition, "spec")) append_text(text, *spec);
  if (const Json* names = find_path(definition, {"status", "acceptedNames"}))
    append_text(text, *names);
  text += is_being_deleted(definition) ? "going" : "here";
  return hash_bytes(text);
}

bool is_served_by_ourselves(const Kind& kind) {
  return std::ranges::any_of(builtin_kinds(), [&](const KindPtr& own) {
    return own->group == kind.group && own->plural == kind.plural;
  });
}

const Kind* stored_kind(const std::vector<KindPtr>& kinds) {
  const auto found =
      std::ranges::find_if(kinds, [](const KindPtr& kind) { return !kind->from_stored; });
  return found == kinds.end() ? nullptr : found->get();
}

bool is_same_object(const Object& left, const Object& right) {
  return left.body() == right.body() && left.cells() == right.cells() &&
         std::ranges::equal(left.fields(), right.fields());
}

}  // namespace

struct CustomResources::Conversion {
  std::string storage;
  KindPtr kind;  // as objects are stored from now on
  std::vector<ObjectPtr> objects;
  size_t next = 0;
};

CustomResources::CustomResources(Loop& loop, Store& store, ApiServer& api)
    : loop_(loop), store_(store), api_(api) {
  listener_ = store_.listen(kDefinitions, [this](const StoreEventPtr& event) { changed(event); });
  for (const ObjectPtr& definition : store_.list(kDefinitions, {}).objects)
    load(*definition);
  publish();
}

CustomResources::~CustomResources() {
  store_.forget(listener_);
}

void CustomResources::changed(const StoreEventPtr& event) {
  const std::string name(event->object->name());
  if (event->type == StoreEvent::Type::Deleted) {
    if (definitions_.erase(name) == 0) return;
    publish();
    remove_leftovers(name);
    return;
  }
  const auto known = definitions_.find(name);
  const bool was_served = known != definitions_.end() && !known->second.kinds.empty();
  if (!load(*event->object)) return;
  publish();
  if (was_served && !event->object->is_being_deleted()) convert_stored(name);
}

bool CustomResources::load(const Object& definition) {
  const Json tree = definition.tree();
  if (condition_status(tree, "Established") != "True") return false;
  const uint64_t signature = signature_of(tree);
  Definition& entry = definitions_[std::string(definition.name())];
  if (entry.signature == signature) return false;
  entry.signature = signature;
  entry.kinds = kinds_of_definition(tree);
  // Definitions may describe kinds this program serves itself, so that tools find them; those stay
  // ours.
  std::erase_if(entry.kinds, [](const KindPtr& kind) { return is_served_by_ourselves(*kind); });
  return true;
}

void CustomResources::publish() {
  std::vector<KindPtr> all;
  for (const auto& [name, definition] : definitions_)
    all.insert(all.end(), definition.kinds.begin(), definition.kinds.end());
  std::ranges::stable_sort(all, [](const KindPtr& left, const KindPtr& right) {
    if (left->group != right->group) return left->group < right->group;
    return left->version != right->version && is_preferred_version(left->version, right->version);
  });
  api_.set_custom_kinds(std::move(all));
}

// A stored object carries its table row and selectable values, and is of the storage version with
// its defaults: all of that may be another's now.
void CustomResources::convert_stored(const std::string& definition) {
  auto conversion = std::make_shared<Conversion>();
  conversion->storage = definition;
  const auto& kinds = definitions_.find(definition)->second.kinds;
  const Kind* stored = stored_kind(kinds);
  if (stored == nullptr) return;
  conversion->kind =
      *std::ranges::find_if(kinds, [&](const KindPtr& kind) { return kind.get() == stored; });
  conversion->objects = store_.list(definition, {}).objects;
  convert_some(conversion);
}

void CustomResources::convert_some(const std::shared_ptr<Conversion>& conversion) {
  const size_t end = std::min(conversion->next + kObjectsATurn, conversion->objects.size());
  for (; conversion->next < end; ++conversion->next) {
    const ObjectPtr& old = conversion->objects[conversion->next];
    Json tree = old->tree();
    tree.get_object()["apiVersion"] = conversion->kind->api_version();
    tree.get_object()["kind"] = conversion->kind->kind;
    if (conversion->kind->set_defaults) conversion->kind->set_defaults(tree);
    ObjectPtr converted = encode_object(*conversion->kind, tree);
    if (is_same_object(*Object::with_revision(*converted, old->revision()), *old)) continue;
    Write write{Key{conversion->storage, std::string(old->ns()), std::string(old->name())},
                old->revision(), std::move(converted), false};
    // Whoever wrote first has written the new form already.
    store_.write(std::move(write), [](Result<Committed>) {});
  }
  if (end == conversion->objects.size()) return;
  loop_.post([this, conversion, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) convert_some(conversion);
  });
}

// The controller has deleted all instances by now; a write that was under way meanwhile must not
// outlive its definition.
void CustomResources::remove_leftovers(const std::string& storage) {
  const auto& own = builtin_kinds();
  if (std::ranges::find(own, storage, [](const KindPtr& kind) { return kind->storage; }) !=
      own.end())
    return;  // served whether it has a definition or not
  for (const ObjectPtr& object : store_.list(storage, {}).objects) {
    log_warning("{} {} outlived its definition and is removed", storage, object->name());
    store_.write(Write{Key{storage, std::string(object->ns()), std::string(object->name())},
                       object->revision(), nullptr, false},
                 [](Result<Committed>) {});
  }
}

}  // namespace yard
