#pragma once
// The table of a custom kind, from its version's additionalPrinterColumns (api-machinery 4.5).

#include <functional>
#include <string>
#include <vector>

#include "api/kind.h"

namespace yard {

struct PrintedTable {
  std::vector<Column> columns;
  std::function<std::string(const Json& object)> cells;
};

PrintedTable custom_table(const JsonArray& printer_columns);

}  // namespace yard
