#pragma once
// What a write of a status has to say: the status, and of the object only what such a write could
// change beside it. The rest need not be copied to be thrown away.

#include "json/json.h"

namespace yard {

Json status_update(const Json& object, Json status);

}  // namespace yard
