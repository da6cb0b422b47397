#pragma once
// What differs between two objects, as ownership sees it.

#include "api/fields/ownership.h"

namespace yard {

// Whose eyes look. Upstream compares built-in objects as Go structs, which shows in managedFields:
// a struct that is no pointer is always there, a list or map without omitempty is there as null,
// and (in an ordinary update) a zero that omitempty would drop is not. Custom resources (protobuf
// number 0) are compared as the JSON they are.
enum class ZeroValues { AsWritten, Dropped };

// Paths marked kAdded, kModified or kRemoved. `live` and `next` may be null: nothing is there yet.
// A container that appears or goes is marked along with its leaves. Never tracked paths are left
// out.
FieldNodes changed_fields(FieldArena& arena, const Json* live, const Json* next,
                          const Schema& schema, ZeroValues zeros);

}  // namespace yard
