#pragma once
// What an encoded object says besides its metadata, without parsing it.

#include <string_view>

#include "api/object.h"
#include "base/search.h"

namespace yard {

// Everything behind metadata: spec, status, data. Who looks for words of it here neither goes
// through managedFields, often half of the encoding, nor mistakes an annotation for a field.
inline std::string_view content(const Object& object) {
  const std::string_view body = object.body(), metadata = object.metadata();
  return body.substr(static_cast<size_t>(metadata.data() + metadata.size() - body.data()));
}

// What `{top: {name: "…"}}` says in an encoding behind its metadata; empty where it says nothing.
// The same words deeper down, say a label of a pod template, do not count.
std::string_view text_in_content(std::string_view content, std::string_view top,
                                 std::string_view name);

inline bool content_has(const Object& object, std::string_view words) {
  return has_words(content(object), words);
}

}  // namespace yard
