#include <fmt/format.h>

#include "api/batch/job_spec.h"
#include "api/checks.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr size_t kMostRules = 20;
constexpr size_t kMostIndexText = 64 * 1024;

Result<int64_t> index_of(std::string_view text, int64_t completions) {
  const std::optional<int64_t> index = parse_int64(text);
  if (!index || *index < 0) {
    return error(Reason::Invalid,
                 fmt::format("cannot convert string to integer for index: {}", quoted(text)));
  }
  if (*index >= completions) {
    return error(Reason::Invalid, fmt::format("too large index: {}", quoted(text)));
  }
  return *index;
}

// How many indexes `1,3-5` names; they must grow.
Result<int64_t> count_indexes(std::string_view text, int64_t completions) {
  int64_t count = 0;
  std::optional<int64_t> last;
  for (std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> ends = split(part, '-');
    if (ends.size() > 2) {
      return error(Reason::Invalid,
                   fmt::format("cannot parse index: {}: more than one separator", quoted(part)));
    }
    const int64_t first = TRY(index_of(ends[0], completions));
    if (last && first <= *last) {
      return error(Reason::Invalid,
                   fmt::format("non-increasing order, previous: {}, current: {}", *last, first));
    }
    last = first;
    if (ends.size() == 2) {
      const int64_t end = TRY(index_of(ends[1], completions));
      if (end <= first) {
        return error(Reason::Invalid,
                     fmt::format("non-increasing order, previous: {}, current: {}", first, end));
      }
      last = end;
    }
    count += *last - first + 1;
  }
  return count;
}

FieldErrors validate_rule(const Json& rule, int64_t completions, const FieldPath& path) {
  FieldErrors errors;
  const Json* count = find(rule, "succeededCount");
  const Json* indexes = find(rule, "succeededIndexes");
  if (!count && !indexes) {
    errors.push_back(
        required(path, "at least one of succeededCount or succeededIndexes must be specified"));
  }
  std::optional<int64_t> listed;
  if (indexes && text_of(*indexes).size() > kMostIndexText) {
    errors.push_back(too_long(path.child("succeededIndexes"), kMostIndexText));
  } else if (indexes) {
    const Result<int64_t> found = count_indexes(text_of(*indexes), completions);
    if (found) {
      listed = *found;
    } else {
      errors.push_back(invalid(path.child("succeededIndexes"), *indexes,
                               "error parsing succeededIndexes: " + found.error().message));
    }
  }
  if (!count) return errors;
  const FieldPath place = path.child("succeededCount");
  check_not_negative(errors, rule, "succeededCount", path);
  if (int_of(*count) > completions) {
    errors.push_back(invalid(
        place, *count,
        fmt::format("must be less than or equal to {} (the number of specified completions)",
                    completions)));
  }
  if (listed && int_of(*count) > *listed) {
    errors.push_back(invalid(place, *count,
                             fmt::format("must be less than or equal to {} (the number of indexes "
                                         "in the specified succeededIndexes field)",
                                         *listed)));
  }
  return errors;
}

}  // namespace

FieldErrors validate_success_policy(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  const Json* policy = find(spec, "successPolicy");
  if (!policy) return errors;
  if (!is_indexed(spec)) {
    errors.push_back(
        invalid(path.child("successPolicy"), *policy, "requires indexed completion mode"));
    return errors;
  }
  const FieldPath place = path.child("successPolicy").child("rules");
  const JsonArray& rules = array_at(*policy, "rules");
  if (rules.empty()) {
    errors.push_back(required(
        place, "at least one rules must be specified when the successPolicy is specified"));
  }
  if (rules.size() > kMostRules) errors.push_back(too_many(place, rules.size(), kMostRules));
  for (size_t i = 0; i < rules.size(); ++i) {
    append_errors(errors, validate_rule(rules[i], int_at(spec, {"completions"}), place.index(i)));
  }
  return errors;
}

}  // namespace yard
