#pragma once
// Objects and lists as bytes for an answer: JSON, YAML, Table, PartialObjectMetadata. A list is
// slices into the objects it shows; nothing is parsed, and nothing large is built as one string.

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/accept.h"
#include "apiserver/kind_table.h"
#include "net/http.h"

namespace yard {

enum class IncludeObject { Metadata, Object, None };
Result<IncludeObject> include_object(std::string_view parameter);  // of a Table

struct Rendering {
  Representation representation;
  IncludeObject include = IncludeObject::Metadata;
  bool pretty = false;
  Time now;
};

struct ListMetadata {
  Revision revision = 0;
  std::string continue_token;
  std::optional<size_t> remaining;
};

HttpResponse object_response(const Kind& kind, const ObjectPtr& object, const Rendering& rendering,
                             int status);
HttpResponse list_response(const Kind& kind, std::vector<ObjectPtr> objects,
                           const ListMetadata& metadata, const Rendering& rendering);
HttpResponse tree_response(const Json& tree, const Rendering& rendering, int status);
HttpResponse error_response(const Error& error, bool pretty = false);

// One watch event as its line: {"type":"ADDED","object":...}\n.
std::string event_line(std::string_view type, const Kind& kind, const Object& object,
                       const Rendering& rendering, bool with_columns);

void append_columns(std::string& out, const std::vector<Column>& columns);

}  // namespace yard
