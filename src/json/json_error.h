#pragma once
// What to tell someone whose JSON cannot be read. Private to this folder.

#include <string_view>

#include <boost/json/error.hpp>

#include "base/result.h"

namespace yard {

// `problem` is what Boost.JSON said at `offset`; the words and the line and column are found by
// reading the text up to there once more.
Error json_error(std::string_view text, size_t offset, const boost::json::error_code& problem,
                 int max_depth);

}  // namespace yard
