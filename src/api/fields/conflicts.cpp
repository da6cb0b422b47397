#include "api/fields/conflicts.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/fields/field_paths.h"
#include "base/strings.h"

namespace yard {
namespace {

std::string owner_words(const ManagedEntry& owner) {
  std::string words = quoted(owner.manager);
  if (!owner.subresource.empty()) words += " with subresource " + quoted(owner.subresource);
  if (!owner.is_apply) words += fmt::format(" using {}", owner.api_version);
  return words;
}

bool stands_before(const FieldConflict& left, const FieldConflict& right) {
  const bool left_updates = !left.owner.is_apply, right_updates = !right.owner.is_apply;
  return std::tie(left.owner.manager, left_updates, left.owner.api_version,
                  left.owner.subresource) < std::tie(right.owner.manager, right_updates,
                                                     right.owner.api_version,
                                                     right.owner.subresource);
}

}  // namespace

Error conflict_error(std::vector<FieldConflict> conflicts) {
  std::sort(conflicts.begin(), conflicts.end(), stands_before);
  Error failure = error(Reason::Conflict, "");
  std::vector<std::string> lines;
  for (const FieldConflict& conflict : conflicts) {
    const std::string owner = owner_words(conflict.owner);
    lines.push_back(fmt::format("conflicts with {}:", owner));
    NodePath path;
    each_member(conflict.fields, path, [&](const NodePath& member) {
      std::string field = path_text(member);
      lines.push_back("- " + field);
      failure.details.causes.push_back(
          {"FieldManagerConflict", "conflict with " + owner, std::move(field)});
    });
  }
  const std::vector<Cause>& causes = failure.details.causes;
  if (causes.size() == 1) {
    failure.message =
        fmt::format("Apply failed with 1 conflict: {}: {}", causes[0].message, causes[0].field);
  } else {
    failure.message =
        fmt::format("Apply failed with {} conflicts: {}", causes.size(), join(lines, "\n"));
  }
  return failure;
}

}  // namespace yard
