#include "api/meta/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/checks.h"
#include "base/strings.h"

namespace yard {
namespace {

constexpr const char* kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kDns1035Rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kQualifiedNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

constexpr size_t kMaxSubdomain = 253;
constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxAnnotationBytes = 262'144;

bool is_lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

std::string no_more_than(size_t characters) {
  return fmt::format("must be no more than {} characters", characters);
}

bool is_label(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), is_label);
}

// The characters of a label value or of a qualified name's last part.
bool is_word(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

std::vector<std::string> dns1123_subdomain_problems(std::string_view name) {
  std::vector<std::string> problems;
  if (name.size() > kMaxSubdomain) problems.push_back(no_more_than(kMaxSubdomain));
  if (!is_subdomain(name)) problems.emplace_back(kSubdomainRule);
  return problems;
}

std::vector<std::string> dns1123_label_problems(std::string_view name) {
  std::vector<std::string> problems;
  if (name.size() > kMaxLabel) problems.push_back(no_more_than(kMaxLabel));
  if (!is_label(name)) problems.emplace_back(kLabelRule);
  return problems;
}

std::vector<std::string> dns1035_label_problems(std::string_view name) {
  std::vector<std::string> problems;
  if (name.size() > kMaxLabel) problems.push_back(no_more_than(kMaxLabel));
  const bool starts_with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (!is_label(name) || starts_with_digit) problems.emplace_back(kDns1035Rule);
  return problems;
}

std::vector<std::string> path_segment_problems(std::string_view name) {
  if (name == ".") return {"may not be '.'"};
  if (name == "..") return {"may not be '..'"};
  std::vector<std::string> problems;
  if (name.find('/') != std::string_view::npos) problems.emplace_back("may not contain '/'");
  if (name.find('%') != std::string_view::npos) problems.emplace_back("may not contain '%'");
  return problems;
}

std::vector<std::string> qualified_name_problems(std::string_view key) {
  std::vector<std::string> problems;
  const std::vector<std::string_view> parts = split(key, '/');
  if (parts.size() > 2) {
    return {
        fmt::format("a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. "
                    "'example.com/MyName')",
                    kQualifiedNameRule)};
  }
  if (parts.size() == 2) {
    if (parts[0].empty())
      problems.emplace_back("prefix part must be non-empty");
    else {
      for (const std::string& problem : dns1123_subdomain_problems(parts[0])) {
        problems.push_back("prefix part " + problem);
      }
    }
  }
  const std::string_view name = parts.back();
  if (name.empty())
    problems.emplace_back("name part must be non-empty");
  else if (name.size() > kMaxLabel)
    problems.push_back("name part " + no_more_than(kMaxLabel));
  if (!is_word(name)) problems.push_back(std::string("name part ") + kQualifiedNameRule);
  return problems;
}

std::vector<std::string> label_value_problems(std::string_view value) {
  std::vector<std::string> problems;
  if (value.size() > kMaxLabel) problems.push_back(no_more_than(kMaxLabel));
  if (!value.empty() && !is_word(value)) problems.emplace_back(kLabelValueRule);
  return problems;
}

std::vector<std::string> name_problems(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::Subdomain: return dns1123_subdomain_problems(name);
    case NameRule::Label: return dns1123_label_problems(name);
    case NameRule::Dns1035Label: return dns1035_label_problems(name);
    case NameRule::PathSegment: return path_segment_problems(name);
  }
  return {};
}

FieldErrors validate_labels(const Json* labels, const FieldPath& path) {
  FieldErrors errors;
  for (const auto& [key, value] : members_of(labels)) {
    add_problems(errors, path, key, qualified_name_problems(key));
    const std::vector<std::string> problems = label_value_problems(text_of(value));
    add_problems(errors, path, text_of(value), problems);
  }
  return errors;
}

FieldErrors validate_annotations(const Json* annotations, const FieldPath& path) {
  FieldErrors errors;
  size_t bytes = 0;
  for (const auto& [key, value] : members_of(annotations)) {
    add_problems(errors, path, key, qualified_name_problems(lower(key)));
    bytes += key.size() + text_of(value).size();
  }
  if (bytes > kMaxAnnotationBytes) errors.push_back(too_long(path, kMaxAnnotationBytes));
  return errors;
}

namespace {

FieldErrors validate_requirement(const Json& requirement, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view op = text_at(requirement, {"operator"});
  const JsonArray& values = array_at(requirement, "values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(forbidden(path.child("values"),
                                 "may not be specified when `operator` is 'Exists' or "
                                 "'DoesNotExist'"));
    }
  } else {
    errors.push_back(invalid(path.child("operator"), Json(op), "not a valid selector operator"));
  }
  const std::string_view key = text_at(requirement, {"key"});
  add_problems(errors, path.child("key"), key, qualified_name_problems(key));
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = text_of(values[i]);
    add_problems(errors, path.child("values").index(i), value, label_value_problems(value));
  }
  return errors;
}

}  // namespace

FieldErrors validate_label_selector(const Json* selector, const FieldPath& path) {
  FieldErrors errors;
  if (!selector) return errors;
  append_errors(errors, validate_labels(find(*selector, "matchLabels"), path.child("matchLabels")));
  const JsonArray& expressions = array_at(*selector, "matchExpressions");
  for (size_t i = 0; i < expressions.size(); ++i) {
    append_errors(errors,
                  validate_requirement(expressions[i], path.child("matchExpressions").index(i)));
  }
  return errors;
}

namespace {

const Json& metadata_of(const Json& object) {
  static const Json kNone = JsonObject();
  const Json* metadata = find(object, "metadata");
  return metadata ? *metadata : kNone;
}

// A generateName may end in '-': the generated suffix follows it.
std::string without_trailing_dash(std::string_view prefix) {
  std::string text(prefix);
  if (text.size() > 1 && text.back() == '-') {
    text.pop_back();
    text.back() = 'a';
  }
  return text;
}

FieldErrors validate_names(const Json& metadata, const Kind& kind, const FieldPath& path) {
  FieldErrors errors;
  const std::string_view prefix = text_at(metadata, {"generateName"});
  if (!prefix.empty()) {
    add_problems(errors, path.child("generateName"), prefix,
                 name_problems(kind.name_rule, without_trailing_dash(prefix)));
  }
  const std::string_view name = text_at(metadata, {"name"});
  if (name.empty()) {
    errors.push_back(required(path.child("name"), "name or generateName is required"));
  } else {
    add_problems(errors, path.child("name"), name, name_problems(kind.name_rule, name));
  }
  const std::string_view ns = text_at(metadata, {"namespace"});
  if (kind.namespaced && ns.empty()) {
    errors.push_back(required(path.child("namespace")));
  } else if (kind.namespaced) {
    add_problems(errors, path.child("namespace"), ns, dns1123_label_problems(ns));
  } else if (!ns.empty()) {
    errors.push_back(forbidden(path.child("namespace"), "not allowed on this type"));
  }
  return errors;
}

void require_text(FieldErrors& errors, const Json& owner, const FieldPath& path, const char* key) {
  if (!text_at(owner, {key}).empty()) return;
  errors.push_back(invalid(path.child(key), Json(""), "must not be empty"));
}

FieldErrors validate_owners(const Json& metadata, const FieldPath& path) {
  FieldErrors errors;
  const Json* all = find(metadata, "ownerReferences");
  std::string controller;
  for (const Json& owner : array_at(metadata, "ownerReferences")) {
    const std::string_view api_version = text_at(owner, {"apiVersion"});
    if (api_version.empty() || api_version.ends_with('/')) {
      errors.push_back(
          invalid(path.child("apiVersion"), Json(api_version), "version must not be empty"));
    }
    require_text(errors, owner, path, "kind");
    require_text(errors, owner, path, "name");
    require_text(errors, owner, path, "uid");
    if (text_at(owner, {"kind"}) == "Event" && api_version == "v1") {
      errors.push_back(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    if (!bool_at(owner, {"controller"})) continue;
    std::string found = fmt::format("{}/{}", text_at(owner, {"kind"}), text_at(owner, {"name"}));
    if (!controller.empty()) {
      errors.push_back(invalid(path, *all,
                               fmt::format("Only one reference can have Controller set to true. "
                                           "Found \"true\" in references for {} and {}",
                                           controller, found)));
    }
    controller = std::move(found);
  }
  return errors;
}

bool is_standard_finalizer(std::string_view name) {
  return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

FieldErrors validate_finalizers(const Json& metadata, bool custom, const FieldPath& path) {
  FieldErrors errors;
  const JsonArray& finalizers = array_at(metadata, "finalizers");
  bool orphan = false;
  bool foreground = false;
  for (size_t i = 0; i < finalizers.size(); ++i) {
    const std::string_view name = text_of(finalizers[i]);
    add_problems(errors, path, name, qualified_name_problems(name));
    orphan = orphan || name == "orphan";
    foreground = foreground || name == "foregroundDeletion";
    if (!custom && name.find('/') == std::string_view::npos && !is_standard_finalizer(name)) {
      errors.push_back(
          invalid(path.index(i), Json(name),
                  "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
  if (orphan && foreground) {
    errors.push_back(invalid(path, Json(finalizers),
                             "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  return errors;
}

FieldErrors validate_common(const Json& metadata, const FieldPath& path) {
  FieldErrors errors = validate_labels(find(metadata, "labels"), path.child("labels"));
  append_errors(errors,
                validate_annotations(find(metadata, "annotations"), path.child("annotations")));
  append_errors(errors, validate_owners(metadata, path.child("ownerReferences")));
  return errors;
}

// Compared by value and not by place, so that a reordered list adds nothing.
void forbid_new_finalizers(FieldErrors& errors, const Json& metadata, const Json& live,
                           const FieldPath& path) {
  std::vector<std::string> added;
  const JsonArray& before = array_at(live, "finalizers");
  for (const Json& finalizer : array_at(metadata, "finalizers")) {
    const bool known = std::ranges::any_of(
        before, [&](const Json& old) { return text_of(old) == text_of(finalizer); });
    if (!known) added.push_back(quoted(text_of(finalizer)));
  }
  if (added.empty()) return;
  errors.push_back(forbidden(path.child("finalizers"),
                             fmt::format("no new finalizers can be added if the object is being "
                                         "deleted, found new finalizers []string{{{}}}",
                                         join(added, ", "))));
}

}  // namespace

FieldErrors validate_metadata(const Json& object, const Kind& kind) {
  const FieldPath path("metadata");
  const Json& metadata = metadata_of(object);
  FieldErrors errors = validate_names(metadata, kind, path);
  append_errors(errors, validate_common(metadata, path));
  append_errors(errors, validate_finalizers(metadata, kind.custom, path.child("finalizers")));
  return errors;
}

FieldErrors validate_metadata_update(const Json& object, const Json& live) {
  const FieldPath path("metadata");
  const Json& metadata = metadata_of(object);
  const Json& before = metadata_of(live);
  FieldErrors errors;
  if (find(before, "deletionTimestamp")) forbid_new_finalizers(errors, metadata, before, path);
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds"}) {
    check_immutable(errors, metadata, before, key, path);
  }
  append_errors(errors, validate_common(metadata, path));
  // Whether the kind is custom is unknown here; a bare name is refused when the object is created.
  append_errors(errors, validate_finalizers(metadata, true, path.child("finalizers")));
  return errors;
}

}  // namespace yard
