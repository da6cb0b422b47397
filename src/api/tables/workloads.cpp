#include <fmt/format.h>

#include "api/tables.h"
#include "api/tables/cells.h"

namespace yard {
namespace {

void append_template_columns(std::vector<Column>& columns, bool with_selector) {
  columns.push_back(wide_column("Containers", "Names of the template's containers."));
  columns.push_back(wide_column("Images", "Images of the template's containers."));
  if (with_selector) columns.push_back(wide_column("Selector", "Which pods belong to it."));
}

void write_template(RowWriter& row, const Json& object, bool with_selector) {
  const Json* spec = find_path(object, {"spec", "template", "spec"});
  row.text(container_members_text(spec, "name"));
  row.text(container_members_text(spec, "image"));
  if (with_selector) row.text(label_selector_text(find_path(object, {"spec", "selector"})));
}

std::string ready_text(const Json& object) {
  return fmt::format("{}/{}", int_at(object, {"status", "readyReplicas"}),
                     int_at(object, {"spec", "replicas"}));
}

}  // namespace

std::vector<Column> deployment_columns() {
  std::vector<Column> out{name_column(), column("Ready", "Pods that are ready, of those wanted."),
                          column("Up-to-date", "Pods of the newest template."),
                          column("Available", "Pods that have been ready for long enough."),
                          age_column()};
  append_template_columns(out, true);
  return out;
}

std::string deployment_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(ready_text(object));
  row.number(int_at(object, {"status", "updatedReplicas"}));
  row.number(int_at(object, {"status", "availableReplicas"}));
  row.age(created_at(object));
  write_template(row, object, true);
  return row.finish();
}

std::vector<Column> replica_set_columns() {
  std::vector<Column> out{name_column(), column("Desired", "How many pods are wanted.", "integer"),
                          column("Current", "How many there are.", "integer"),
                          column("Ready", "How many are ready.", "integer"), age_column()};
  append_template_columns(out, true);
  return out;
}

std::string replica_set_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.number(int_at(object, {"spec", "replicas"}));
  row.number(int_at(object, {"status", "replicas"}));
  row.number(int_at(object, {"status", "readyReplicas"}));
  row.age(created_at(object));
  write_template(row, object, true);
  return row.finish();
}

std::vector<Column> stateful_set_columns() {
  std::vector<Column> out{name_column(), column("Ready", "Pods that are ready, of those wanted."),
                          age_column()};
  append_template_columns(out, false);
  return out;
}

std::string stateful_set_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  row.text(ready_text(object));
  row.age(created_at(object));
  write_template(row, object, false);
  return row.finish();
}

std::vector<Column> daemon_set_columns() {
  std::vector<Column> out{name_column(),
                          column("Desired", "How many nodes should run its pod.", "integer"),
                          column("Current", "How many do.", "integer"),
                          column("Ready", "On how many it is ready.", "integer"),
                          column("Up-to-date", "On how many it is the newest.", "integer"),
                          column("Available", "Ready for long enough.", "integer"),
                          column("Node Selector", "Which nodes run its pod."),
                          age_column()};
  append_template_columns(out, true);
  return out;
}

std::string daemon_set_cells(const Json& object) {
  RowWriter row;
  row.text(name_of(object));
  for (const char* member : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady",
                             "updatedNumberScheduled", "numberAvailable"})
    row.number(int_at(object, {"status", member}));
  row.text(labels_text(map_at(object, {"spec", "template", "spec", "nodeSelector"})));
  row.age(created_at(object));
  write_template(row, object, true);
  return row.finish();
}

std::vector<Column> controller_revision_columns() {
  return {name_column(), column("Controller", "Whose history it is."),
          column("Revision", "Its number."), age_column()};
}

std::string controller_revision_cells(const Json& object) {
  std::string controller = "<none>";
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    if (!bool_at(owner, {"controller"})) continue;
    const std::string_view version = text_at(owner, {"apiVersion"});
    const size_t slash = version.find('/');
    std::string kind(text_at(owner, {"kind"}));
    for (char& c : kind)
      c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    controller = fmt::format("{}{}{}/{}", kind, slash == std::string_view::npos ? "" : ".",
                             slash == std::string_view::npos ? "" : version.substr(0, slash),
                             text_at(owner, {"name"}));
  }
  RowWriter row;
  row.text(name_of(object));
  row.text(controller);
  row.number(int_at(object, {"revision"}));
  row.age(created_at(object));
  return row.finish();
}

}  // namespace yard
