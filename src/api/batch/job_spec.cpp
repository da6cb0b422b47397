#include "api/batch/job_spec.h"

#include <fmt/format.h>

#include "api/checks.h"
#include "api/core/pod_template.h"
#include "api/meta/names.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr int64_t kMostIndexed = 100'000;
constexpr int64_t kMostWithManyCompletions = 10'000;
constexpr size_t kMostManagedBy = 63;

Cause too_big(const Json& spec, const char* key, const FieldPath& path, int64_t most,
              std::string_view when = "") {
  return invalid(path.child(key), *find(spec, key),
                 fmt::format("must be less than or equal to {}{}", most, when));
}

// Tracking which of very many indexes failed needs bounds on how many may.
void check_many_completions(FieldErrors& errors, const Json& spec, const FieldPath& path) {
  const std::string when = fmt::format(
      " when completions are above {} and used with backoff limit per index", kMostIndexed);
  if (!find(spec, "maxFailedIndexes")) {
    errors.push_back(
        required(path.child("maxFailedIndexes"),
                 fmt::format("must be specified when completions is above {}", kMostIndexed)));
  }
  for (const char* key : {"parallelism", "maxFailedIndexes"}) {
    if (int_at(spec, {key}) > kMostWithManyCompletions) {
      errors.push_back(too_big(spec, key, path, kMostWithManyCompletions, when));
    }
  }
}

FieldErrors validate_indexed(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  const Json* completions = find(spec, "completions");
  const Json* max_failed = find(spec, "maxFailedIndexes");
  if (!completions) {
    errors.push_back(required(path.child("completions"), "when completion mode is Indexed"));
  }
  if (int_at(spec, {"parallelism"}) > kMostIndexed) {
    errors.push_back(
        too_big(spec, "parallelism", path, kMostIndexed, " when completion mode is Indexed"));
  }
  if (completions && max_failed && int_of(*max_failed) > int_of(*completions)) {
    errors.push_back(invalid(path.child("maxFailedIndexes"), *max_failed,
                             "must be less than or equal to completions"));
  }
  if (max_failed && int_of(*max_failed) > kMostIndexed) {
    errors.push_back(too_big(spec, "maxFailedIndexes", path, kMostIndexed));
  }
  if (completions && int_of(*completions) > kMostIndexed && find(spec, "backoffLimitPerIndex")) {
    check_many_completions(errors, spec, path);
  }
  return errors;
}

FieldErrors validate_not_indexed(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  for (const char* key : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
    if (const Json* value = find(spec, key)) {
      errors.push_back(invalid(path.child(key), *value, "requires indexed completion mode"));
    }
  }
  return errors;
}

void check_managed_by(FieldErrors& errors, const Json& spec, const FieldPath& path) {
  const Json* managed_by = find(spec, "managedBy");
  if (!managed_by) return;
  const std::string_view text = text_of(*managed_by);
  const FieldPath place = path.child("managedBy");
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() < 2 || parts[0].empty() || parts[1].empty()) {
    errors.push_back(
        invalid(place, *managed_by, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  } else {
    add_problems(errors, place, parts[0], dns1123_subdomain_problems(parts[0]));
  }
  if (text.size() > kMostManagedBy) errors.push_back(too_long(place, kMostManagedBy));
}

void check_restart_policy(FieldErrors& errors, const Json& spec, const FieldPath& path) {
  const std::string_view policy = text_at(spec, {"template", "spec", "restartPolicy"});
  const FieldPath place = path.child("template").child("spec").child("restartPolicy");
  if (policy.empty() || policy == "Always") {
    errors.push_back(required(place, "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    errors.push_back(not_supported(place, Json(policy), {"OnFailure", "Never"}));
  } else if (policy != "Never" && find(spec, "podFailurePolicy")) {
    errors.push_back(invalid(place, Json(policy),
                             "only \"Never\" is supported when podFailurePolicy is specified"));
  }
}

}  // namespace

bool is_indexed(const Json& spec) {
  return text_at(spec, {"completionMode"}) == "Indexed";
}

FieldErrors validate_job_spec(const Json& spec, const FieldPath& path) {
  FieldErrors errors;
  for (const char* key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                          "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    check_not_negative(errors, spec, key, path);
  }
  if (find(spec, "maxFailedIndexes") && !find(spec, "backoffLimitPerIndex")) {
    errors.push_back(
        required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
  }
  check_managed_by(errors, spec, path);
  check_supported(errors, spec, "completionMode", path, {"NonIndexed", "Indexed"});
  append_errors(errors,
                is_indexed(spec) ? validate_indexed(spec, path) : validate_not_indexed(spec, path));
  append_errors(errors, validate_pod_failure_policy(spec, path));
  append_errors(errors, validate_success_policy(spec, path));
  if (find(spec, "podFailurePolicy")) {
    check_supported(errors, spec, "podReplacementPolicy", path, {"Failed"});
  } else {
    check_supported(errors, spec, "podReplacementPolicy", path, {"Failed", "TerminatingOrFailed"});
  }
  static const Json kNothing = JsonObject();
  const Json* pod_template = find(spec, "template");
  append_errors(errors, validate_pod_template(pod_template ? *pod_template : kNothing,
                                              path.child("template")));
  check_restart_policy(errors, spec, path);
  return errors;
}

}  // namespace yard
