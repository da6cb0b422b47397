#pragma once
// The fields an object has, as a set; and objects with fields taken away.

#include "api/fields/ownership.h"

namespace yard {

// All leaves; items of associative lists and entries of maps also by their own path; structs only
// where null or {}.
FieldNodes fields_of(FieldArena& arena, const Json& object, const Schema& schema);

// `set` plus every declared member of a struct that leads to something in it: taking the last of a
// struct's fields away takes the struct away.
FieldNodes with_structs(FieldArena& arena, FieldNodes set, const Schema* schema);

// Takes the members of `set` out of `value`. What is left empty by that goes too.
void remove_fields(Json& value, FieldNodes set, const Schema* schema);

}  // namespace yard
