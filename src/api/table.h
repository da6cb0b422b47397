#pragma once
// Table cells: made when an object is written, rendered when it is listed. Ages are kept as points
// in time inside the encoded cells, so a list neither parses nor recomputes an object.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/json.h"

namespace yard {

// Collects one row. The result is the JSON array of cells with ages as marks: <0x01><unix
// seconds><0x02> stands, inside a JSON string, for the human duration from then until the moment of
// rendering.
class RowWriter {
 public:
  RowWriter& text(std::string_view value);
  RowWriter& number(int64_t value);
  RowWriter& boolean(bool value);
  RowWriter& null();
  RowWriter& json(const Json& value);
  RowWriter& age(std::optional<Time> since);  // "<unknown>" without one
  RowWriter& text_with_age(std::string_view before, Time since,
                           std::string_view after);  // `3 (5m ago)`
  std::string finish();

 private:
  void next();
  std::string out_ = "[";
};

// `cells` as valid JSON at `now`, onto the end of `out`.
void append_rendered_cells(std::string& out, std::string_view cells, Time now);

}  // namespace yard
