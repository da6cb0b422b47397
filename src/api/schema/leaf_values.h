#pragma once
// Leaves whose JSON text has a form of its own: times, quantities and bytes. Shared by the JSON and
// the protobuf decoder.

#include <optional>
#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "base/result.h"

namespace yard {

// The text Kubernetes stores for a Time or MicroTime; empty for Go's zero time, which JSON shows as
// null.
Result<std::string> normal_time(std::string_view text, Schema::Type type);
// The same from protobuf's seconds and nanoseconds since 1970.
Result<std::string> time_of_seconds(int64_t seconds, int64_t nanos, Schema::Type type);
Result<std::string> normal_quantity(std::string_view text);
// Standard base64 as Go reads it: line ends are skipped. The place of the first wrong byte, if
// there is one.
std::optional<size_t> wrong_base64_byte(std::string_view text);
std::string without_line_ends(std::string_view text);
// What Go holds where JSON says null inside a list or map: "", 0, false, {}.
Json zero_value(const Schema& schema);

}  // namespace yard
