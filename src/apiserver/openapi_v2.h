#pragma once
// The OpenAPI v2 document for clients of before 1.27, as a protobuf Document: the PATCH operation
// of every kind, which is where they look whether a server-side dry run works, and the schemas,
// which `explain`, their own check of a manifest and the merge keys of `apply` are read from
// (api-machinery 1.6). Pure; derived from the v3 documents, so the two never disagree.

#include <memory>
#include <span>
#include <string>

#include "apiserver/kind_table.h"

namespace yard {

std::string openapi_v2_document(const KindTable& table,
                                std::span<const std::shared_ptr<const std::string>> v3_documents);
// The same as JSON, with every operation, for those who ask for that.
std::string openapi_v2_json(std::span<const std::shared_ptr<const std::string>> v3_documents);

}  // namespace yard
