#pragma once
// The kinds a CustomResourceDefinition serves.

#include <vector>

#include "api/kind.h"

namespace yard {

// One row for each served version, the preferred first (v2, v1, v1beta1, v1alpha1, then other
// words). All are views of one storage; the row without conversions is how objects are stored: the
// storage version, or the first where that is not served.
std::vector<KindPtr> kinds_of_definition(const Json& definition);

// Whether a version comes before another in discovery.
bool is_preferred_version(std::string_view left, std::string_view right);

// Texts for Warning headers: parts of a definition that are kept but do nothing here.
std::vector<std::string> definition_warnings(const Json& definition);

}  // namespace yard
