#pragma once
// The rules for names, labels and the metadata every object has (api-machinery 2.2), in the API's
// own words.

#include <string>
#include <string_view>
#include <vector>

#include "api/field_errors.h"
#include "api/kind.h"

namespace yard {

// Each answers the complaints about a value, none when it is fine.
std::vector<std::string> dns1123_subdomain_problems(std::string_view name);
std::vector<std::string> dns1123_label_problems(std::string_view name);
std::vector<std::string> dns1035_label_problems(std::string_view name);
std::vector<std::string> path_segment_problems(std::string_view name);
std::vector<std::string> qualified_name_problems(std::string_view key);  // label keys, finalizers
std::vector<std::string> label_value_problems(std::string_view value);
std::vector<std::string> name_problems(NameRule rule, std::string_view name);

FieldErrors validate_labels(const Json* labels, const FieldPath& path);
FieldErrors validate_annotations(const Json* annotations, const FieldPath& path);
FieldErrors validate_label_selector(const Json* selector, const FieldPath& path);

// metadata as a whole, on create and on update.
FieldErrors validate_metadata(const Json& object, const Kind& kind);
FieldErrors validate_metadata_update(const Json& object, const Json& live);

}  // namespace yard
