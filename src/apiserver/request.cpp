#include "apiserver/request.h"

#include "api/field_errors.h"
#include "base/strings.h"

namespace yard {
namespace {

bool is_false(std::string_view text) {
  return text == "0" || equals_ignore_case(text, "false");
}

constexpr size_t kProxySegment = 6;  // api/v1/namespaces/NS/pods/NAME/proxy

Result<std::string> path_segment(std::string_view encoded) {
  bool ok = true;
  std::string text = percent_decode(encoded, false, &ok);
  if (!ok)
    return error(Reason::BadRequest, "the path has a broken percent escape: " + quoted(encoded));
  if (text == "." || text == ".." || text.find_first_of("/%") != std::string::npos ||
      !is_valid_utf8(text)) {
    return error(Reason::BadRequest,
                 "the path has a segment that is not a legal name: " + quoted(text));
  }
  return text;
}

Error invalid_options(std::string_view options_kind, const FieldErrors& errors) {
  return invalid_object("meta.k8s.io", options_kind, "", errors);
}

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return is_valid_utf8(text);
}

// Up to the first '/', printable, at most 128 bytes: who wrote when nobody said.
std::string manager_of(std::string_view user_agent) {
  std::string_view name = user_agent.substr(0, user_agent.find('/'));
  std::string out;
  for (const char c : name) {
    if (out.size() == 128) break;
    if (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f)
      out.push_back(c);
  }
  return out.empty() ? "unknown" : out;
}

}  // namespace

std::string_view Query::get(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return value;
  }
  return {};
}

bool Query::has(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return true;
  }
  return false;
}

bool Query::flag(std::string_view name) const {
  return has(name) && !is_false(get(name));
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const auto& [key, value] : pairs_) {
    if (key == name) out.push_back(value);
  }
  return out;
}

Result<std::optional<ResourcePath>> parse_resource_path(std::string_view path) {
  std::vector<std::string> parts;
  if (!path.starts_with("/")) return std::optional<ResourcePath>{};
  if (!path.starts_with("/api/") && !path.starts_with("/apis/"))
    return std::optional<ResourcePath>{};
  path.remove_prefix(1);
  while (path.ends_with("/"))
    path.remove_suffix(1);
  for (const std::string_view part : split(path, '/')) {
    if (parts.size() > kProxySegment && parts[kProxySegment] == "proxy") {
      parts.emplace_back(part);  // another server's path: whatever it means is its own business
      continue;
    }
    std::string decoded = TRY(path_segment(part));
    parts.push_back(std::move(decoded));
  }
  ResourcePath out;
  size_t at = 0;
  if (parts[0] == "api") {
    if (parts.size() < 3) return std::optional<ResourcePath>{};
    out.version = parts[1];
    at = 2;
  } else {
    if (parts.size() < 4) return std::optional<ResourcePath>{};
    out.group = parts[1];
    out.version = parts[2];
    at = 3;
  }
  if (parts[at] == "watch" && at + 1 < parts.size()) {
    out.watch_prefix = true;
    ++at;
  }
  // /namespaces/{n} and its status and finalize are the Namespace; any other third segment is
  // inside it.
  if (parts[at] == "namespaces" && at + 2 < parts.size() && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    out.ns = parts[at + 1];
    at += 2;
  }
  out.plural = parts[at++];
  if (at < parts.size()) out.name = parts[at++];
  if (at < parts.size()) out.subresource = parts[at++];
  for (; at < parts.size(); ++at)
    out.rest += "/" + parts[at];
  return std::optional<ResourcePath>{std::move(out)};
}

Result<WriteOptions> parse_write_options(const Query& query, std::string_view user_agent,
                                         std::string_view options_kind) {
  WriteOptions out;
  FieldErrors errors;
  for (const std::string_view value : query.all("dryRun")) {
    if (value == "All") {
      out.dry_run = true;
    } else if (!value.empty()) {
      errors.push_back(not_supported(FieldPath("dryRun"), Json(value), {"All"}));
    }
  }
  out.field_manager_given = !query.get("fieldManager").empty();
  if (out.field_manager_given) {
    out.field_manager = query.get("fieldManager");
    if (out.field_manager.size() > 128) errors.push_back(too_long(FieldPath("fieldManager"), 128));
    if (!is_printable(out.field_manager)) {
      errors.push_back(invalid(FieldPath("fieldManager"), Json(out.field_manager),
                               "should only contain printable characters"));
    }
  } else {
    out.field_manager = manager_of(user_agent);
  }
  const std::string_view validation = query.get("fieldValidation");
  if (validation == "Strict") {
    out.validation = FieldValidation::Strict;
  } else if (validation == "Ignore") {
    out.validation = FieldValidation::Ignore;
  } else if (!validation.empty() && validation != "Warn") {
    errors.push_back(not_supported(FieldPath("fieldValidation"), Json(validation),
                                   {"", "Ignore", "Strict", "Warn"}));
  }
  if (query.has("force")) out.force = query.flag("force");
  if (!errors.empty()) return invalid_options(options_kind, errors);
  return out;
}

Result<ListOptions> parse_list_options(const Query& query, bool watch) {
  ListOptions out;
  out.label_selector = query.get("labelSelector");
  out.field_selector = query.get("fieldSelector");
  out.continue_token = query.get("continue");
  out.resource_version = query.get("resourceVersion");
  out.resource_version_match = query.get("resourceVersionMatch");
  out.watch = watch;
  out.allow_bookmarks = query.flag("allowWatchBookmarks");
  if (query.has("sendInitialEvents")) out.send_initial_events = query.flag("sendInitialEvents");
  const auto number = [&](std::string_view name) -> Result<std::optional<int64_t>> {
    const std::string_view text = query.get(name);
    if (text.empty()) return std::optional<int64_t>{};
    const auto value = parse_int64(text);
    if (!value)
      return error(Reason::BadRequest,
                   "strconv.ParseInt: parsing " + quoted(text) + ": invalid syntax");
    return value;
  };
  out.limit = TRY(number("limit")).value_or(0);
  out.timeout_seconds = TRY(number("timeoutSeconds"));

  FieldErrors errors;
  const FieldPath match_path("resourceVersionMatch");
  const std::string& match = out.resource_version_match;
  if (watch) {
    if (out.send_initial_events) {
      if (match.empty()) {
        errors.push_back(forbidden(
            match_path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
      } else if (match != "NotOlderThan") {
        errors.push_back(not_supported(match_path, Json(match), {"NotOlderThan"}));
      }
    } else if (!match.empty()) {
      errors.push_back(forbidden(
          match_path,
          "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
    }
  } else {
    if (out.send_initial_events) {
      errors.push_back(
          forbidden(FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
    }
    if (!match.empty()) {
      if (out.resource_version.empty()) {
        errors.push_back(forbidden(
            match_path, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
      }
      if (!out.continue_token.empty()) {
        errors.push_back(
            forbidden(match_path, "resourceVersionMatch is forbidden when continue is provided"));
      }
      if (match != "Exact" && match != "NotOlderThan") {
        errors.push_back(not_supported(match_path, Json(match), {"Exact", "NotOlderThan", ""}));
      } else if (match == "Exact" && out.resource_version == "0") {
        errors.push_back(forbidden(
            match_path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
      }
    }
  }
  if (!errors.empty()) return invalid_options("ListOptions", errors);
  return out;
}

}  // namespace yard
