#pragma once
// Paths as people read them: .spec.containers[name="c"].image, .spec.tags[="a"].

#include <string>

#include "api/fields/field_set.h"
#include "json/json.h"

namespace yard {

void append_element(std::string& path, ElementKind kind, std::string_view text);
std::string path_text(const NodePath& path);

}  // namespace yard
