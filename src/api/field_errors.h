#pragma once
// Validation errors in the words of the Kubernetes API: `spec.x: Invalid value: -1: must be ...`.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace yard {

// The place of a value: grows cheaply while a validator walks down, prints as
// spec.containers[0].name.
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string text) : text_(std::move(text)) {}
  FieldPath child(std::string_view name) const;  // a.b
  FieldPath index(size_t position) const;        // a[0]
  FieldPath key(std::string_view name) const;    // a[name]
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using FieldErrors = std::vector<Cause>;  // Cause.message is the part after `path: `

Cause required(const FieldPath& path, std::string_view detail = "");
Cause invalid(const FieldPath& path, const Json& value, std::string_view detail);
Cause not_supported(const FieldPath& path, const Json& value,
                    const std::vector<std::string>& supported);
Cause duplicate(const FieldPath& path, const Json& value);
Cause forbidden(const FieldPath& path, std::string_view detail);
Cause not_found(const FieldPath& path, const Json& value);
Cause too_long(const FieldPath& path, size_t max_bytes);
Cause too_many(const FieldPath& path, size_t actual, size_t max_items);
Cause type_invalid(const FieldPath& path, const Json& value, std::string_view detail);

// `Job.batch "x" is invalid: ...` with one or several errors and the causes (section 9.2).
Error invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                     const FieldErrors& errors);

}  // namespace yard
