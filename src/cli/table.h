#pragma once
// A server's Table (meta.k8s.io/v1) as lines of text.

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "json/json.h"

namespace yard {

// Cells in columns, three spaces apart, by how wide they look: Korean and Chinese take two columns
// a character. The last column is not padded.
struct Grid {
  std::vector<std::string> header;  // empty: none
  std::vector<std::vector<std::string>> rows;
};

struct GridLook {
  std::string indent;
  int gap = 3;
  bool colour = false;
};
// `widths` are at least kept and grow as needed, so that a watch goes on in the columns it began.
std::string grid_text(const Grid& grid, const GridLook& look, std::vector<int>& widths);
std::string grid_text(const Grid& grid, const GridLook& look = {});

struct TableLook {
  bool is_wide = false;         // also columns of a priority above 0
  bool with_namespace = false;  // a first column with the namespace
  bool with_header = true;
  std::string name_prefix;  // `pod/`, where several types are shown
};
// `columns` are the definitions to read the rows by: a watch sends them with its first event only.
Grid table_grid(const Json& columns, const JsonArray& rows, const TableLook& look);

}  // namespace yard
