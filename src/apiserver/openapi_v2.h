#pragma once
// The OpenAPI v2 document for clients of before 1.27, as a protobuf Document. It has the PATCH operation of every kind,
// which is where they look whether a server-side dry run works, and no definitions: for the rest those clients then use
// the types they were built with (api-machinery 1.6).

#include <string>

#include "apiserver/kind_table.h"

namespace yard {

std::string openapi_v2_document(const KindTable& table);

}  // namespace yard
