#pragma once
// One storage, two views (api-machinery 8.1): core/v1 and events.k8s.io/v1 call some members
// differently.

#include <array>
#include <string_view>
#include <utility>

#include "json/json.h"

namespace yard {

struct EventNames {
  std::string_view object, message, source, first, last, count, controller;
};

constexpr EventNames kCoreEventNames{"involvedObject",    "message",       "source",
                                     "firstTimestamp",    "lastTimestamp", "count",
                                     "reportingComponent"};
constexpr EventNames kEventsEventNames{"regarding",
                                       "note",
                                       "deprecatedSource",
                                       "deprecatedFirstTimestamp",
                                       "deprecatedLastTimestamp",
                                       "deprecatedCount",
                                       "reportingController"};

// The names in use in this tree, by its apiVersion.
const EventNames& event_names(const Json& event);

// From one view to the other, apiVersion included. A tree that is already in that form stays.
void to_core_event(Json& event);
void to_events_event(Json& event);

}  // namespace yard
