#pragma once
// RFC 6902 and RFC 7386. The strategic merge patch needs a schema: api/schema/strategic_merge.h.

#include "json/json.h"

namespace yard {

// RFC 6902. A body that is no array of operations is BadRequest (`error decoding patch: ...`); more
// than 10,000 operations RequestEntityTooLarge; an operation that cannot be done, or a failed test,
// is Invalid with the API server's message. Copies are bounded to 3 MiB in all. `target` is
// unchanged on error.
Result<void> apply_json_patch(Json& target, const Json& patch);

// RFC 7386. The patch must be an object (BadRequest otherwise).
Result<void> apply_merge_patch(Json& target, const Json& patch);

}  // namespace yard
