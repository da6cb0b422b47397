#include "client/status_update.h"

namespace yard {

Json status_update(const Json& object, Json status) {
  JsonObject out;
  for (const char* name : {"apiVersion", "kind"}) {
    if (const Json* member = find(object, name)) out.emplace(name, on_heap(*member));
  }
  JsonObject metadata;
  if (const Json* given = find(object, "metadata"); given != nullptr && given->is_object()) {
    metadata.reserve(given->get_object().size());
    for (const auto& member : given->get_object()) {
      // Who owns what is the server's to say.
      if (member.key() != "managedFields") metadata.emplace(member.key(), on_heap(member.value()));
    }
  }
  out.emplace("metadata", std::move(metadata));
  out.emplace("status", std::move(status));
  return out;
}

}  // namespace yard
