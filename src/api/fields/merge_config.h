#pragma once
// An object with an applied configuration laid over it.

#include "api/schema/schema.h"

namespace yard {

// Scalars and atomic values come from `config`, maps merge by key, sets and associative lists by
// item. Items that both have stand in the order of `config`; the others keep their place. What is
// equal stays as it was written.
void merge_config(Json& object, const Json& config, const Schema* schema);

}  // namespace yard
