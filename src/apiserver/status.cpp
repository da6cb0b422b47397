#include "apiserver/status.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

Error about(Reason reason, const Kind& kind, std::string_view name, std::string message) {
  Error out = error(reason, std::move(message));
  out.details.name = name;
  out.details.group = kind.group;
  out.details.kind = kind.plural;
  return out;
}

}  // namespace

Json status_of(const Error& failure) {
  JsonObject metadata;
  if (!failure.details.continue_token.empty())
    metadata["continue"] = failure.details.continue_token;
  JsonObject out{{"kind", "Status"},
                 {"apiVersion", "v1"},
                 {"metadata", metadata},
                 {"status", "Failure"},
                 {"message", failure.message}};
  out["reason"] = wire_name(failure.reason);
  const ErrorDetails& from = failure.details;
  JsonObject details;
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) details[name] = value;
  };
  put("name", from.name);
  put("group", from.group);
  put("kind", from.kind);
  put("uid", from.uid);
  if (!from.causes.empty()) {
    JsonArray causes;
    for (const Cause& cause : from.causes) {
      JsonObject entry;
      if (!cause.reason.empty()) entry["reason"] = cause.reason;
      if (!cause.message.empty()) entry["message"] = cause.message;
      if (!cause.field.empty()) entry["field"] = cause.field;
      causes.push_back(std::move(entry));
    }
    details["causes"] = std::move(causes);
  }
  if (from.retry_after_seconds > 0) details["retryAfterSeconds"] = from.retry_after_seconds;
  const bool about_a_path =
      failure.reason == Reason::NotFound || failure.reason == Reason::MethodNotAllowed;
  if (!details.empty() || about_a_path) out["details"] = std::move(details);
  out["code"] = http_code(failure.reason);
  return out;
}

Json deleted_status(const Kind& kind, std::string_view name, std::string_view uid) {
  JsonObject details{{"name", name}};
  if (!kind.group.empty()) details["group"] = kind.group;
  details["kind"] = kind.plural;
  details["uid"] = uid;
  return JsonObject{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", JsonObject()},
                    {"status", "Success"},
                    {"details", std::move(details)}};
}

Json success_status(int code) {
  return JsonObject{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", JsonObject()},
                    {"status", "Success"},
                    {"code", code}};
}

Error not_found_error(const Kind& kind, std::string_view name) {
  return about(Reason::NotFound, kind, name,
               fmt::format("{} {} not found", kind.group_resource(), quoted(name)));
}

Error already_exists_error(const Kind& kind, std::string_view name) {
  return about(Reason::AlreadyExists, kind, name,
               fmt::format("{} {} already exists", kind.group_resource(), quoted(name)));
}

Error conflict_error(const Kind& kind, std::string_view name, std::string_view why) {
  return about(Reason::Conflict, kind, name,
               fmt::format("Operation cannot be fulfilled on {} {}: {}", kind.group_resource(),
                           quoted(name), why));
}

Error modified_error(const Kind& kind, std::string_view name) {
  return conflict_error(kind, name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
}

Error forbidden_error(const Kind& kind, std::string_view name, std::string_view why) {
  return about(Reason::Forbidden, kind, name,
               fmt::format("{} {} is forbidden: {}", kind.group_resource(), quoted(name), why));
}

Error wrong_name_error(std::string_view name, std::string_view name_on_url) {
  if (name.empty()) {
    return error(Reason::BadRequest,
                 fmt::format("the name of the object ({} based on URL) was undeterminable: name "
                             "must be provided",
                             name_on_url));
  }
  return error(Reason::BadRequest,
               fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                           name, name_on_url));
}

Error no_such_resource_error() {
  return error(Reason::NotFound, "the server could not find the requested resource");
}

Error method_not_allowed_error() {
  return error(Reason::MethodNotAllowed,
               "the server does not allow this method on the requested resource");
}

Error namespace_not_found_error(std::string_view ns) {
  Error out = error(Reason::NotFound, fmt::format("namespaces {} not found", quoted(ns)));
  out.details.name = ns;
  out.details.kind = "namespaces";
  return out;
}

Error namespace_terminating_error(const Kind& kind, std::string_view name, std::string_view ns) {
  Error out = forbidden_error(
      kind, name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  ns));
  out.details.causes.push_back({"NamespaceTerminating",
                                fmt::format("namespace {} is being terminated", ns),
                                "metadata.namespace"});
  return out;
}

std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  // Header values are one line of printable text; the quoted string escapes its own marks.
  for (const char c : text.substr(0, 4096)) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c);
  }
  return out + "\"";
}

}  // namespace yard
