#include "api/tables.h"
#include "api/tables/cells.h"

namespace yard {

namespace {

int64_t size_of(const JsonObject& map) {
  return static_cast<int64_t>(map.size());
}

}  // namespace

std::vector<Column> config_map_columns() {
  return {name_column(), column("Data", "How many keys it holds."), age_column()};
}

std::string config_map_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(size_of(map_at(object, {"data"})) + size_of(map_at(object, {"binaryData"})));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> secret_columns() {
  return {name_column(), column("Type", "What the secret is used for."),
          column("Data", "How many keys it holds."), age_column()};
}

std::string secret_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"type"}));
  row.number(size_of(map_at(object, {"data"})));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> service_account_columns() {
  return {name_column(), column("Secrets", "How many secrets it lists."), age_column()};
}

std::string service_account_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(static_cast<int64_t>(list_at(object, {"secrets"}).size()));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> lease_columns() {
  return {name_column(), column("Holder", "Who holds the lease."), age_column()};
}

std::string lease_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(text_at(object, {"spec", "holderIdentity"}));
  row.age(created_at(object));
  return row.finish();
}

std::vector<Column> default_columns() {
  return {name_column(), column("Created At", "When the object was created.", "date")};
}

std::string default_cells(const Json& object) {
  std::optional<Time> created = created_at(object);
  RowWriter row;
  row.text(name_of(object));
  row.text(created ? rfc3339(*created) : "<unknown>");
  return row.finish();
}

std::vector<Column> custom_resource_definition_columns() {
  return default_columns();
}

std::string custom_resource_definition_cells(const Json& object) {
  return default_cells(object);
}

}  // namespace yard
