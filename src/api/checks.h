#pragma once
// Checks of a parent's member by its key, for specs with many members of a few sorts. Objects have
// passed conform() before, so types are right; a reader here answers "nothing" for any other type.

#include <string>
#include <string_view>
#include <vector>

#include "api/field_errors.h"
#include "api/validation.h"

namespace yard {

inline constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

int64_t int_of(const Json& value);  // 0 when no whole number
// The same for a member; text_at() and int_at() would copy a JsonObject into a Json.
std::string_view text_in(const JsonObject& object, std::string_view key);
bool bool_in(const JsonObject& object, std::string_view key);
const JsonArray& array_at(const Json& value, std::string_view key);     // empty when absent
const JsonObject& members_at(const Json& value, std::string_view key);  // empty when absent
const JsonObject& members_of(const Json* value);

// Each looks at parent[key] and complains about path.key; absence is fine unless it says otherwise.
void check_not_negative(FieldErrors& errors, const Json& parent, const char* key,
                        const FieldPath& path);
void check_within(FieldErrors& errors, const Json& parent, const char* key, const FieldPath& path,
                  int64_t least, int64_t most);
void check_supported(FieldErrors& errors, const Json& parent, const char* key,
                     const FieldPath& path, const std::vector<std::string>& supported);
void require_supported(FieldErrors& errors, const Json& parent, const char* key,
                       const FieldPath& path, const std::vector<std::string>& supported);
void require_member(FieldErrors& errors, const Json& parent, const char* key,
                    const FieldPath& path);  // a text that is not empty

void check_immutable(FieldErrors& errors, const Json& parent, const Json& live, const char* key,
                     const FieldPath& path);

}  // namespace yard
