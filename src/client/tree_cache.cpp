#include "client/tree_cache.h"

namespace yard {
namespace {

SharedJson parsed(const Object& object) {
  auto block = std::make_shared<JsonBlock>();
  block->tree = object.tree(block->memory());
  return SharedJson(block);
}

}  // namespace

size_t TreeCache::Entry::bytes() const {
  return shown.object->body_size() + (next ? next->object->body_size() : 0);
}

TreeCache::Entries::iterator TreeCache::find(const Object& object) {
  const auto found = by_uid_.find(object.uid());
  if (found == by_uid_.end()) return entries_.end();
  entries_.splice(entries_.end(), entries_, found->second);
  return found->second;
}

std::optional<SharedJson> TreeCache::known(const ObjectPtr& object) {
  const auto entry = find(*object);
  if (entry == entries_.end()) return std::nullopt;
  if (entry->shown.object == object) return entry->shown.tree;
  if (entry->next && entry->next->object == object) return entry->next->tree;
  return std::nullopt;
}

SharedJson TreeCache::of(const ObjectPtr& object) {
  std::optional<SharedJson> tree = known(object);
  if (!tree) tree = parsed(*object);
  // Who reads has it from the store: the version before it is over.
  keep({object, *tree});
  return *std::move(tree);
}

void TreeCache::keep(Version version) {
  const Object& object = *version.object;
  if (object.body_size() > most_bytes_ || object.uid().empty()) return;
  auto entry = find(object);
  if (entry == entries_.end()) {
    entry = entries_.insert(entries_.end(),
                            {std::string(object.uid()), std::move(version), std::nullopt});
    by_uid_.emplace(entry->uid, entry);
  } else {
    if (entry->shown.object == version.object) return;
    bytes_ -= entry->bytes();
    entry->shown = std::move(version);
    if (entry->next && entry->next->object->revision() <= object.revision()) entry->next.reset();
  }
  bytes_ += entry->bytes();
  keep_within_bounds();
}

void TreeCache::expect(const ObjectPtr& object, SharedJson tree) {
  const auto entry = find(*object);
  if (entry == entries_.end()) return keep({object, std::move(tree)});
  bytes_ -= entry->bytes();
  entry->next = {object, std::move(tree)};
  bytes_ += entry->bytes();
  keep_within_bounds();
}

void TreeCache::keep_within_bounds() {
  while (entries_.size() > most_objects_ || bytes_ > most_bytes_) {
    bytes_ -= entries_.front().bytes();
    by_uid_.erase(entries_.front().uid);
    entries_.pop_front();
  }
}

}  // namespace yard
