#pragma once
// What a store restored from a backup says and is no longer so: pods whose processes are not here,
// and nodes that are other machines.

#include <functional>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "client/client.h"

namespace yard {

// The pod as it must be shown: Failed, its node lost, so that whoever made it makes another.
// Nothing when it has ended, or has not begun and its node is still ours (then it is started).
std::optional<Json> pod_after_restore(const Json& pod, bool node_is_ours, Time now);

// Writes that down for every pod, removes the nodes that are not ours, then calls `done`.
void settle_restored(Client& client, Time now,
                     const std::function<bool(std::string_view)>& is_our_node,
                     std::function<void()> done);

}  // namespace yard
