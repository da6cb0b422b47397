#pragma once
// All kinds served at one moment: the built-in ones and those of established CRDs. Immutable; a
// change of a CRD makes a new table, and requests under way keep the one they began with.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"

namespace yard {

class KindTable {
 public:
  explicit KindTable(std::vector<KindPtr> kinds);

  KindPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  KindPtr find_kind(std::string_view api_version, std::string_view kind) const;
  // The kind objects of this storage are encoded as.
  KindPtr stored_as(std::string_view storage) const;
  bool serves_group(std::string_view group) const;
  bool serves_version(std::string_view group, std::string_view version) const;
  const std::vector<KindPtr>& kinds() const { return kinds_; }

  struct GroupVersion {
    std::string group, version;
    std::vector<KindPtr> kinds;
  };
  // In discovery order: a group's versions stand together, the preferred one first.
  const std::vector<GroupVersion>& group_versions() const { return group_versions_; }
  // Upstream answers with a Status for every version of its own groups, served or not.
  bool has_built_in_group(std::string_view group) const;

 private:
  std::vector<KindPtr> kinds_;
  std::vector<GroupVersion> group_versions_;
  std::map<std::string, KindPtr, std::less<>> by_path_;  // group/version/plural
  std::map<std::string, KindPtr, std::less<>> by_kind_;  // apiVersion/Kind
  std::map<std::string, KindPtr, std::less<>> by_storage_;
};

using KindTablePtr = std::shared_ptr<const KindTable>;

}  // namespace yard
