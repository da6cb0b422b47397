#include "controllers/batch/success_policy.h"

#include "api/tree.h"

namespace yard {
namespace {

bool is_met(const Json& rule, const IndexSet& succeeded, int completions) {
  const Json* count = find(rule, "succeededCount");
  const bool has_count = count != nullptr && !count->is_null();
  const int64_t wanted = int_at(rule, {"succeededCount"});
  const std::string_view listed = text_at(rule, {"succeededIndexes"});
  if (listed.empty()) return has_count && succeeded.size() >= wanted;
  const IndexSet indexes = IndexSet::parse(listed, completions);
  const int hit = succeeded.overlap(indexes);
  return hit == indexes.size() || (has_count && hit >= wanted);
}

}  // namespace

std::optional<size_t> met_success_rule(const JobFacts& job, const IndexSet& succeeded) {
  if (job.success_policy == nullptr || succeeded.empty()) return std::nullopt;
  const JsonArray& rules = list_at(*job.success_policy, {"rules"});
  for (size_t i = 0; i < rules.size(); ++i) {
    if (is_met(rules[i], succeeded, job.completions.value_or(0))) return i;
  }
  return std::nullopt;
}

}  // namespace yard
