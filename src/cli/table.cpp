#include "cli/table.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace yard {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

// A cell is one line: what follows a newline is cut, and said to be.
std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "<none>";
  if (!cell.is_string()) return to_text(cell);
  std::string_view text = cell.get_string();
  const size_t end = text.find_first_of("\n\r\f");
  std::string shown = printable(text.substr(0, end));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  if (end != std::string_view::npos) shown += "...";
  return shown;
}

bool names_a_status(std::string_view header) {
  return header == "STATUS" || header == "PHASE" || header == "STATE" || header == "TYPE";
}

void append_line(std::string& out, const std::vector<std::string>& cells,
                 const std::vector<int>& widths, const GridLook& look,
                 const std::vector<Style>& styles) {
  out += look.indent;
  for (size_t i = 0; i < cells.size(); ++i) {
    out += look.colour ? styled(cells[i], styles[i]) : cells[i];
    if (i + 1 == cells.size()) break;
    const int padding = widths[i] - display_width(cells[i]) + look.gap;
    out.append(static_cast<size_t>(std::max(padding, 1)), ' ');
  }
  while (out.ends_with(' '))
    out.pop_back();
  out += '\n';
}

}  // namespace

std::string grid_text(const Grid& grid, const GridLook& look, std::vector<int>& widths) {
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  widen(grid.header);
  for (const auto& row : grid.rows)
    widen(row);
  std::string out;
  if (!grid.header.empty()) {
    append_line(out, grid.header, widths, look,
                std::vector<Style>(grid.header.size(), Style::Bold));
  }
  for (const auto& row : grid.rows) {
    std::vector<Style> styles(row.size(), Style::Plain);
    for (size_t i = 0; look.colour && i < row.size() && i < grid.header.size(); ++i) {
      if (names_a_status(grid.header[i])) styles[i] = status_style(row[i]);
    }
    append_line(out, row, widths, look, styles);
  }
  return out;
}

std::string grid_text(const Grid& grid, const GridLook& look) {
  std::vector<int> widths;
  return grid_text(grid, look, widths);
}

Grid table_grid(const Json& columns, const JsonArray& rows, const TableLook& look) {
  Grid grid;
  std::vector<size_t> shown;
  if (look.with_namespace) grid.header.emplace_back("NAMESPACE");
  size_t name_column = 0;
  if (columns.is_array()) {
    for (size_t i = 0; i < columns.get_array().size(); ++i) {
      const Json& column = columns.get_array()[i];
      if (text_at(column, {"format"}) == "name") name_column = i;
      if (int_at(column, {"priority"}) > 0 && !look.is_wide) continue;
      shown.push_back(i);
      grid.header.push_back(upper(text_at(column, {"name"})));
    }
  }
  grid.rows.reserve(rows.size());
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(grid.header.size());
    if (look.with_namespace) {
      cells.emplace_back(text_at(row, {"object", "metadata", "namespace"}));
    }
    const Json* values = find(row, "cells");
    for (const size_t i : shown) {
      const bool is_there =
          values != nullptr && values->is_array() && i < values->get_array().size();
      std::string cell = is_there ? cell_text(values->get_array()[i]) : "";
      cells.push_back(i == name_column ? look.name_prefix + cell : std::move(cell));
    }
    grid.rows.push_back(std::move(cells));
  }
  if (!look.with_header) grid.header.clear();
  return grid;
}

}  // namespace yard
