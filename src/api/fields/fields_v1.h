#pragma once
// FieldsV1, the JSON form of a set of paths: {"f:spec":{"f:ports":{".":{},"k:{\"port\":80}":{}}}}.

#include <optional>

#include "api/fields/field_set.h"
#include "json/json.h"

namespace yard {

// The set, its texts views of `fields` where they can be; nothing when it is no FieldsV1. Elements
// of a kind this version does not know are skipped, as upstream does, so that newer writers do no
// harm.
std::optional<FieldNodes> read_fields_v1(FieldArena& arena, const Json& fields);

JsonObject write_fields_v1(FieldNodes nodes, const boost::json::storage_ptr& storage);

// Compact JSON with object members sorted: how the values inside keys are told apart.
void append_sorted_text(std::string& out, const Json& value);

}  // namespace yard
