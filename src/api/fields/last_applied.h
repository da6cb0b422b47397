#pragma once
// kubectl.kubernetes.io/last-applied-configuration: how objects of client-side apply move over to
// server-side apply. Only the manager `kubectl` is treated this way; others opt out by their name.

#include "api/fields/ownership.h"

namespace yard {

inline constexpr std::string_view kKubectlManager = "kubectl";

// The fields client-side apply last set that still have that value: kubectl may take them over
// without force.
FieldNodes last_applied_fields(FieldArena& arena, const Json& live, const Schema& schema,
                               std::string_view api_version);

// Where `object` carries the annotation, it becomes the text of `config`, so that client-side apply
// can go on.
void rewrite_last_applied(Json& object, const Json& config);

}  // namespace yard
