#include "api/field_errors.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {

FieldPath FieldPath::child(std::string_view name) const {
  if (text_.empty()) return FieldPath(std::string(name));
  std::string text;
  text.reserve(text_.size() + 1 + name.size());
  text.append(text_).append(1, '.').append(name);
  return FieldPath(std::move(text));
}

FieldPath FieldPath::index(size_t position) const {
  return FieldPath(fmt::format("{}[{}]", text_, position));
}

FieldPath FieldPath::key(std::string_view name) const {
  return FieldPath(fmt::format("{}[{}]", text_, name));
}

namespace {

// An error about no field in particular prints as `[]: ...`, as the API server does.
std::string place(const FieldPath& path) {
  return path.text().empty() ? "[]" : path.text();
}

std::string shown(const Json& value) {
  if (const auto* text = value.if_string()) return quoted(std::string_view(*text));
  return to_text(value);
}

Cause cause(const char* reason, const FieldPath& path, std::string message,
            std::string_view detail) {
  if (!detail.empty()) message.append(": ").append(detail);
  return Cause{reason, std::move(message), place(path)};
}

}  // namespace

Cause required(const FieldPath& path, std::string_view detail) {
  return cause("FieldValueRequired", path, "Required value", detail);
}

Cause invalid(const FieldPath& path, const Json& value, std::string_view detail) {
  return cause("FieldValueInvalid", path, "Invalid value: " + shown(value), detail);
}

Cause not_supported(const FieldPath& path, const Json& value,
                    const std::vector<std::string>& supported) {
  std::vector<std::string> texts;
  texts.reserve(supported.size());
  for (const std::string& text : supported)
    texts.push_back(quoted(text));
  std::string detail = texts.empty() ? "" : "supported values: " + join(texts, ", ");
  return cause("FieldValueNotSupported", path, "Unsupported value: " + shown(value), detail);
}

Cause duplicate(const FieldPath& path, const Json& value) {
  return cause("FieldValueDuplicate", path, "Duplicate value: " + shown(value), "");
}

Cause forbidden(const FieldPath& path, std::string_view detail) {
  return cause("FieldValueForbidden", path, "Forbidden", detail);
}

Cause not_found(const FieldPath& path, const Json& value) {
  return cause("FieldValueNotFound", path, "Not found: " + shown(value), "");
}

Cause too_long(const FieldPath& path, size_t max_bytes) {
  return cause("FieldValueTooLong", path, "Too long",
               fmt::format("may not be more than {} bytes", max_bytes));
}

Cause too_many(const FieldPath& path, size_t actual, size_t max_items) {
  return cause("FieldValueTooMany", path, fmt::format("Too many: {}", actual),
               fmt::format("must have at most {} items", max_items));
}

Cause type_invalid(const FieldPath& path, const Json& value, std::string_view detail) {
  return cause("FieldValueTypeInvalid", path, "Invalid value: " + shown(value), detail);
}

Error invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                     const FieldErrors& errors) {
  Error result;
  result.reason = Reason::Invalid;
  result.details.name = name;
  result.details.group = group;
  result.details.kind = kind;
  // The same complaint found on two ways down is told once.
  for (const Cause& error : errors) {
    auto& causes = result.details.causes;
    if (std::ranges::find(causes, error) == causes.end()) causes.push_back(error);
  }
  std::vector<std::string> texts;
  for (const Cause& error : result.details.causes)
    texts.push_back(error.field + ": " + error.message);
  const std::string all = texts.size() == 1 ? texts.front() : "[" + join(texts, ", ") + "]";
  result.message =
      fmt::format("{}{}{} \"{}\" is invalid: {}", kind, group.empty() ? "" : ".", group, name, all);
  return result;
}

}  // namespace yard
