#include "client/tree_cache.h"

namespace yard {

std::optional<SharedJson> TreeCache::known(const ObjectPtr& object) {
  const auto found = by_uid_.find(object->uid());
  if (found == by_uid_.end() || found->second->object != object) return std::nullopt;
  entries_.splice(entries_.end(), entries_, found->second);
  return found->second->tree;
}

SharedJson TreeCache::of(const ObjectPtr& object) {
  if (auto tree = known(object)) return *std::move(tree);
  SharedJson tree(object->tree());
  const size_t bytes = object->body_size();
  if (bytes > most_bytes_ || object->uid().empty()) return tree;
  if (const auto older = by_uid_.find(object->uid()); older != by_uid_.end()) drop(older->second);
  while (!entries_.empty() && (entries_.size() >= most_objects_ || bytes_ + bytes > most_bytes_))
    drop(entries_.begin());
  entries_.push_back({object, tree});
  by_uid_.emplace(object->uid(), std::prev(entries_.end()));
  bytes_ += bytes;
  return tree;
}

void TreeCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->object->body_size();
  by_uid_.erase(entry->object->uid());
  entries_.erase(entry);
}

}  // namespace yard
