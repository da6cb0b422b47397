#include "api/crd/printer_columns.h"

#include <cmath>
#include <optional>

#include "api/crd/json_path.h"
#include "api/tables/cells.h"

namespace yard {
namespace {

struct PrintedColumn {
  std::string type;
  std::optional<JsonPath> path;  // none: could not be read, the cell stays empty
};

void print_date(RowWriter& row, const Json& value) {
  if (!value.is_string()) {
    row.null();
  } else if (const auto since = parse_rfc3339(text_of(value))) {
    row.age(since);
  } else {
    row.text("<invalid>");
  }
}

void print_integer(RowWriter& row, const Json& value) {
  const double* real = value.if_double();
  if (real != nullptr && std::abs(*real) < 9e18) {
    row.number(static_cast<int64_t>(*real));
  } else if (value.is_int64() || value.is_uint64()) {
    row.json(value);
  } else {
    row.null();
  }
}

void print_cell(RowWriter& row, const std::string& type, const Json* value) {
  if (value == nullptr || value->is_null()) {
    row.null();
  } else if (type == "string") {
    row.text(value->is_string() ? std::string(text_of(*value)) : to_text(*value));
  } else if (type == "date") {
    print_date(row, *value);
  } else if (type == "integer") {
    print_integer(row, *value);
  } else if ((type == "number" && value->is_number()) || (type == "boolean" && value->is_bool())) {
    row.json(*value);
  } else {
    row.null();
  }
}

std::string print_row(const std::vector<PrintedColumn>& columns, const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  for (const PrintedColumn& column : columns) {
    print_cell(row, column.type, column.path ? column.path->find_first(object) : nullptr);
  }
  return row.finish();
}

}  // namespace

PrintedTable custom_table(const JsonArray& printer_columns) {
  PrintedTable table;
  table.columns.push_back(name_column());
  std::vector<PrintedColumn> printed;
  for (const Json& source : printer_columns) {
    Column made = column(text_at(source, {"name"}), text_at(source, {"description"}),
                         text_at(source, {"type"}));
    made.format = text_at(source, {"format"});
    made.priority = static_cast<int>(int_at(source, {"priority"}));
    auto path = JsonPath::parse(text_at(source, {"jsonPath"}));
    printed.push_back({made.type, path ? std::optional(std::move(*path)) : std::nullopt});
    table.columns.push_back(std::move(made));
  }
  if (printer_columns.empty()) {
    Column age = age_column();
    age.type = "date";
    table.columns.push_back(std::move(age));
    auto created = JsonPath::parse(".metadata.creationTimestamp");
    printed.push_back({"date", std::move(*created)});
  }
  table.cells = [printed = std::move(printed)](const Json& object) {
    return print_row(printed, object);
  };
  return table;
}

}  // namespace yard
