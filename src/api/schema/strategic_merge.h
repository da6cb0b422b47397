#pragma once
// Strategic merge patch (api-machinery 3.5): merge patch that knows which lists are maps in
// disguise.

#include "api/schema/schema.h"

namespace yard {

// Directives: $patch, $retainKeys, $setElementOrder/x, $deleteFromPrimitiveList/x. `target` is
// unchanged on error.
Result<void> apply_strategic_merge_patch(Json& target, const Json& patch, const Schema& schema);

}  // namespace yard
