#pragma once
// The scale subresource of custom kinds: autoscaling/v1 Scale, mapped by the JSON paths of the
// definition (api-machinery 6.3).

#include "apiserver/change.h"

namespace yard {

// InternalError where the object has no replicas at the path.
Result<Json> scale_of(const Kind& kind, const Json& object);
// A Scale as kubectl's table of one row.
Json scale_table(const Json& scale, std::string_view version, Time now);
Result<Change> plan_scale_update(const WriteContext& context, const ObjectPtr& live,
                                 const RequestBody& body);
Result<Change> plan_scale_patch(const WriteContext& context, const ObjectPtr& live, PatchType type,
                                const RequestBody& body);

}  // namespace yard
