#include "apiserver/kind_table.h"

#include <algorithm>

namespace yard {
namespace {

std::string joined(std::string_view a, std::string_view b, std::string_view c) {
  std::string out;
  out.reserve(a.size() + b.size() + c.size() + 2);
  out.append(a).append("/").append(b).append("/").append(c);
  return out;
}

}  // namespace

KindTable::KindTable(std::vector<KindPtr> kinds) : kinds_(std::move(kinds)) {
  for (const KindPtr& kind : kinds_) {
    by_path_.emplace(joined(kind->group, kind->version, kind->plural), kind);
    by_kind_.emplace(kind->api_version() + "/" + kind->kind, kind);
    // A view of another kind's storage (events.k8s.io) converts; the one that does not is what is
    // stored.
    if (!kind->from_stored) by_storage_.emplace(kind->storage, kind);
    auto found = std::ranges::find_if(group_versions_, [&](const GroupVersion& entry) {
      return entry.group == kind->group && entry.version == kind->version;
    });
    if (found == group_versions_.end()) {
      auto after_group =
          std::find_if(group_versions_.rbegin(), group_versions_.rend(),
                       [&](const GroupVersion& entry) { return entry.group == kind->group; })
              .base();
      if (after_group == group_versions_.begin()) after_group = group_versions_.end();
      found = group_versions_.insert(after_group, GroupVersion{kind->group, kind->version, {}});
    }
    found->kinds.push_back(kind);
  }
}

KindPtr KindTable::find(std::string_view group, std::string_view version,
                        std::string_view plural) const {
  const auto found = by_path_.find(joined(group, version, plural));
  return found == by_path_.end() ? nullptr : found->second;
}

KindPtr KindTable::find_kind(std::string_view api_version, std::string_view kind) const {
  const auto found = by_kind_.find(std::string(api_version) + "/" + std::string(kind));
  return found == by_kind_.end() ? nullptr : found->second;
}

KindPtr KindTable::stored_as(std::string_view storage) const {
  const auto found = by_storage_.find(storage);
  return found == by_storage_.end() ? nullptr : found->second;
}

bool KindTable::serves_group(std::string_view group) const {
  return std::ranges::any_of(group_versions_,
                             [&](const GroupVersion& entry) { return entry.group == group; });
}

bool KindTable::serves_version(std::string_view group, std::string_view version) const {
  return std::ranges::any_of(group_versions_, [&](const GroupVersion& entry) {
    return entry.group == group && entry.version == version;
  });
}

bool KindTable::has_built_in_group(std::string_view group) const {
  return std::ranges::any_of(
      kinds_, [&](const KindPtr& kind) { return kind->group == group && !kind->custom; });
}

}  // namespace yard
