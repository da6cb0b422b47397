#pragma once
// What stands against an apply: fields it would change that others own.

#include <vector>

#include "api/fields/managed_entries.h"

namespace yard {

struct FieldConflict {
  ManagedEntry owner;
  FieldNodes fields;
};

// The Conflict a client gets, owners in order of their names.
Error conflict_error(std::vector<FieldConflict> conflicts);

}  // namespace yard
